// Checks whether nodes see each other's files.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "runner/base/exclusive_file.h"
#include "runner/base/input_file.h"
#include "runner/base/replaced_file.h"
#include "runner/doctor/cluster.h"
#include "runner/doctor/folder_checks.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

constexpr double kLongestWaitS = 5.0;
constexpr std::int64_t kNever = -1;

/// A file of rank 0, removed by the destructor. On other ranks, or if writing failed, the name is
/// empty.
class Mark {
 public:
  Mark(const runner::Communicator& leaders, const std::string& path) {
    if (leaders.rank() != 0) return;
    // Others may write to a shared folder: the name is not to be foreseen.
    std::string name =
        fmt::format("{}/.trainmark-doctor-{}.shared", nearest_folder(path), base::unique_token());
    const base::Descriptor file = base::open_part(name);
    if (!file) return;
    name_ = std::move(name);
    const auto wrote = ::write(file.get(), name_.data(), name_.size());
    if (wrote == static_cast<ssize_t>(name_.size())) return;
    ::unlink(name_.c_str());
    name_.clear();
  }
  ~Mark() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

bool is_there(const std::string& name) {
  // A listing makes network file systems refresh their caches.
  std::error_code error;
  const fs::directory_iterator listing(fs::path(name).parent_path(), error);
  std::string problem;
  return base::read_text(name, problem) == name;
}

/// Milliseconds until the file is visible.
std::int64_t wait_for(const std::string& name) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (is_there(name)) return static_cast<std::int64_t>(waited.count() * 1e3);
    if (waited.count() > kLongestWaitS) return kNever;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

Findings check_shared(const runner::Communicator& leaders, const Hosts& hosts,
                      const std::string& path) {
  const Mark mark(leaders, path);
  const std::string name = leaders.broadcast(mark.name(), 0);
  if (name.empty()) return {};  // folder.write has reported it
  const std::array<std::int64_t, 1> mine = {wait_for(name)};
  const auto all = leaders.gather(std::span<const std::int64_t>(mine), 0);
  Findings findings;
  for (std::size_t node = 1; node < all.size(); ++node) {
    const bool seen = all[node] != kNever;
    const double seconds = static_cast<double>(all[node]) / 1e3;
    findings.push_back(
        {"folder.shared", seen ? Verdict::kOk : Verdict::kError, hosts[node] + ": " + path,
         seen
             ? fmt::format("seen after {:.2f} s", seconds)
             : fmt::format("a file of {} is not seen after {:.0f} s", hosts.front(), kLongestWaitS),
         seen ? "" : "a folder that all nodes share",
         seen ? ""
              : "mount it on that node, or name a shared folder by --set "
                "results.directory=FOLDER",
         seen ? std::optional<double>(seconds) : std::nullopt});
  }
  return findings;
}

}  // namespace doctor
