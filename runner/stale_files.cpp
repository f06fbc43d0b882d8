// Finds and removes files of dead runs.
#include "runner/stale_files.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/process_state.h"
#include "runner/base/system_facts.h"
#include "runner/result_files.h"
#include "runner/telemetry/live_status.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

/// A run updates its live file every two seconds.
constexpr std::chrono::seconds kSilentRun(60);
/// The same for a run of this host's name that is out of sight: before a reboot, or in another
/// container, where a run that lives soon writes its live file again.
constexpr std::chrono::seconds kSilentRunHere(10);
/// Minimum age of an unfinished file whose run is unknown.
constexpr std::chrono::seconds kSilentFile(10);

bool is_begun(std::string_view name) {
  return name.ends_with(".part") || name.ends_with(".new") ||
         name.find(".partial.") != std::string_view::npos;
}

bool is_live_file(std::string_view name) { return name.ends_with(".live.json"); }

/// The content of a small regular file; "" for any other.
std::string text_of(const fs::path& path) {
  std::string problem;
  return base::read_text(path.string(), problem).value_or("");
}

class Folder {
 public:
  explicit Folder(const fs::path& log)
      : folder_(log.parent_path()),
        own_(result_number(log.filename().string())),
        // the file system's clock, which may differ from this host's
        now_(fs::last_write_time(log)) {}

  void clean() const {
    std::set<std::int64_t> live, dead;
    for (const fs::path& path : files(folder_)) {
      if (!is_live_file(path.filename().string()) || is_own(path)) continue;
      if (is_dead(path)) {
        remove(path);
        dead.insert(number_of(path));
      } else {
        live.insert(number_of(path));
      }
    }
    for (const fs::path& path : files(folder_)) {
      if (is_own(path) || live.contains(number_of(path))) continue;
      const std::chrono::seconds silence =
          dead.contains(number_of(path)) ? std::chrono::seconds(-1) : kSilentFile;
      remove_if_begun(path, silence);
      if (path.extension() != ".checkpoints") continue;
      for (const fs::path& file : files(path)) remove_if_begun(file, silence);
    }
  }

 private:
  static std::int64_t number_of(const fs::path& path) {
    return result_number(path.filename().string());
  }
  bool is_own(const fs::path& path) const {
    const std::int64_t number = number_of(path);
    return number <= 0 || number == own_;
  }

  static std::vector<fs::path> files(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      paths.push_back(it->path());
    }
    return paths;
  }

  std::chrono::seconds age(const fs::path& path) const {
    std::error_code error;
    const auto written = fs::last_write_time(path, error);
    return error ? std::chrono::seconds(0)
                 : std::chrono::duration_cast<std::chrono::seconds>(now_ - written);
  }

  bool is_dead(const fs::path& live_file) const {
    const std::chrono::seconds silence = age(live_file);
    if (silence > kSilentRun) return true;
    try {
      const auto status = telemetry::parse_live_status(text_of(live_file), live_file.string());
      const base::Life life = base::life_from_here(status.process);
      const bool is_of_this_host = status.host == base::host_name();
      if (life == base::Life::kUnknown && is_of_this_host) return silence > kSilentRunHere;
      return life == base::Life::kDead;
    } catch (const base::Error&) {
      return false;  // it is being written
    }
  }

  /// Removes an unfinished file that was not written to for longer than `silence`.
  void remove_if_begun(const fs::path& path, std::chrono::seconds silence) const {
    if (is_begun(path.filename().string()) && age(path) > silence) remove(path);
  }

  static void remove(const fs::path& path) {
    std::error_code error;
    fs::remove(path, error);
  }

  const fs::path folder_;
  const std::int64_t own_;
  const fs::file_time_type now_;
};

}  // namespace

void remove_stale_files(const std::string& log_path) noexcept {
  try {
    Folder(log_path).clean();
  } catch (const std::exception&) {
    // This run does not depend on the cleanup.
  }
}

}  // namespace runner
