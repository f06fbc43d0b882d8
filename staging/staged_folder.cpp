// The life of a staged set's folder: begun under a name of its own, made visible by one rename,
// deleted only by its manifest. Hides names, leftovers of processes that died, and their removal.
#include "staging/staged_folder.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "staging/manifest.h"
#include "staging/output_file.h"
#include "staging/packed.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

/// In every folder that was begun: without it nothing is deleted as a leftover.
constexpr const char* kBegunFile = "begun-by-trainmark";

std::string suffix(long process) { return fmt::format(".part.{}.{}", base::host_name(), process); }

/// The process that began the folder, if this host did.
std::optional<long> owner_of(const std::string& name) {
  const std::string middle = fmt::format(".part.{}.", base::host_name());
  const std::size_t place = name.rfind(middle);
  if (place == std::string::npos) return std::nullopt;
  long process = 0;
  const char* begin = name.data() + place + middle.size();
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(begin, end, process);
  if (parsed.ec != std::errc() || parsed.ptr != end || process <= 0) return std::nullopt;
  return process;
}

/// Ended, but not taken note of by its parent: in a container possibly for ever.
bool is_zombie(long process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // a name may hold anything
  return name_end != std::string::npos && line.substr(name_end + 1).starts_with(" Z");
}

bool is_alive(long process) {
  const bool exists = ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
  return exists && !is_zombie(process);
}

void remove_begun(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) {
    throw base::SystemError(
        fmt::format("{}: cannot be removed: {}", folder.string(), error.message()));
  }
}

}  // namespace

std::string begin_folder(const std::string& final_directory) {
  const std::string folder = final_directory + suffix(::getpid());
  std::error_code error;
  if (!fs::create_directory(folder, error)) {
    throw base::SystemError(fmt::format("{}: cannot be created: {}", folder,
                                        error ? error.message() : "it is there already"));
  }
  OutputFile(folder + "/" + kBegunFile).finish();
  return folder;
}

void publish_folder(const std::string& folder, const std::string& final_directory,
                    const std::string& identity) {
  if (fs::exists(final_directory)) {
    if (holds_staged_set(final_directory, identity)) {
      remove_begun(folder);
      return;
    }
    remove_folder(final_directory);
  }
  std::error_code error;
  fs::rename(folder, final_directory, error);
  if (error) {
    throw base::SystemError(
        fmt::format("{}: cannot be renamed to {}: {}", folder, final_directory, error.message()));
  }
  // Not before: a process that dies between the two must leave what the next one may remove.
  fs::remove(final_directory + "/" + kBegunFile, error);
  sync_folder(fs::path(final_directory).parent_path().string());
}

void remove_folder(const std::string& directory) {
  if (!fs::exists(directory)) return;  // another job on this node was faster
  const Manifest manifest = read_manifest(directory);
  // From the first rename on the set is a leftover, whatever happens to this process.
  std::string doomed = directory + suffix(::getpid());
  std::ofstream(fs::path(directory) / kBegunFile).flush();
  std::error_code error;
  fs::rename(directory, doomed, error);
  if (error) doomed = directory;
  for (const PackedPart& part : manifest.parts) {
    fs::remove(doomed + "/" + part.file, error);
    fs::remove(doomed + "/" + part.index_file, error);
  }
  fs::remove(doomed + "/" + kManifestFile, error);
  fs::remove(doomed + "/" + kBegunFile, error);
  fs::remove(doomed, error);
  if (fs::exists(doomed)) {
    throw base::SystemError(fmt::format(
        "{}: not removed: it holds files that its manifest does not name, or may not be written",
        doomed));
  }
}

void remove_leftovers(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const auto owner = owner_of(entry.path().filename().string());
    if (owner && !is_alive(*owner) && fs::exists(entry.path() / kBegunFile)) {
      remove_begun(entry.path());
    }
  }
}

}  // namespace staging
