// Lists folders.
#include "runner/base/file_walk.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "runner/base/random.h"

namespace base {
namespace {

namespace fs = std::filesystem;

/// Data sets have classes and files; links to a folder above would have no end.
constexpr int kDeepest = 4;

class Walk {
 public:
  Walk(WalkShare share, const std::function<bool(const std::string&)>& visit)
      : share_(share), visit_(visit) {}

  /// Returns false once `visit` does. Entries of the uppermost folder are shared out: those below
  /// them are for the same caller.
  bool list(const fs::path& folder, int depth) {
    std::vector<std::pair<std::uint64_t, fs::path>> folders;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::uint64_t hash = hash_name(at->path().filename().string());
      if (depth == 0 && !is_mine(hash)) continue;
      std::error_code unknown;
      if (at->is_directory(unknown)) {
        folders.emplace_back(hash, at->path());
      } else if (at->is_regular_file(unknown) && !visit_(at->path().string())) {
        return false;
      }
    }
    if (depth == kDeepest) return true;
    std::sort(folders.begin(), folders.end());
    return std::all_of(folders.begin(), folders.end(),
                       [&](const auto& below) { return list(below.second, depth + 1); });
  }

  bool is_mine(std::uint64_t hash) const {
    return hash % static_cast<std::uint64_t>(share_.count) ==
           static_cast<std::uint64_t>(share_.index);
  }

 private:
  const WalkShare share_;
  const std::function<bool(const std::string&)>& visit_;
};

}  // namespace

void walk_files(const std::string& path, WalkShare share,
                const std::function<bool(const std::string& file)>& visit) {
  Walk walk(share, visit);
  std::error_code error;
  if (fs::is_directory(path, error)) {
    walk.list(path, 0);
  } else if (fs::is_regular_file(path, error) && walk.is_mine(hash_name(path))) {
    visit(path);
  }
}

}  // namespace base
