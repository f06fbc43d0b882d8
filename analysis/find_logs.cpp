// Finds the log files that the paths of a command line name.
#include "analysis/find_logs.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace analysis {
namespace {

namespace fs = std::filesystem;

bool is_digit(char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; }

std::size_t number_end(const std::string& text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// The digits in text[begin, end) without leading zeros.
std::string_view digits(const std::string& text, std::size_t begin, std::size_t end) {
  while (begin + 1 < end && text[begin] == '0') ++begin;
  return std::string_view(text).substr(begin, end - begin);
}

/// Adds the paths that match the pattern `given`; `given` itself if it exists or matches nothing.
void expand(const std::string& given, std::vector<std::string>& paths) {
  std::error_code failed;
  glob_t matches{};
  if (given != kStandardInput && !fs::exists(fs::symlink_status(given, failed)) &&
      ::glob(given.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &matches) == 0) {
    paths.insert(paths.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  } else {
    paths.push_back(given);
  }
  ::globfree(&matches);
}

/// The parent folder of a path: "rounds" for "rounds/hpc_v0.7/".
fs::path parent_of(const std::string& given) {
  const fs::path path = fs::path(given).lexically_normal();
  return path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
}

/// The innermost folder that contains all paths; "" if there is none.
fs::path common_parent(const std::vector<std::string>& paths) {
  fs::path common = parent_of(paths.front());
  for (const std::string& given : paths) {
    const fs::path parent = parent_of(given);
    const auto [end, ignored] =
        std::mismatch(common.begin(), common.end(), parent.begin(), parent.end());
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

/// `path` relative to `root`. Avoids lexically_relative() for paths that begin with `root`, as
/// those of a walk do.
fs::path path_below(const fs::path& path, const fs::path& root) {
  const std::string_view whole = path.native(), front = root.native();
  if (!front.empty() && whole.starts_with(front)) {
    const std::string_view rest = whole.substr(front.size());
    if (rest.starts_with('/')) return rest.substr(1);
    if (front.ends_with('/')) return rest;
  }
  return path.lexically_relative(root.empty() ? "." : root);
}

class Finder {
 public:
  /// `several`: names are relative to `parent`, or the paths themselves if it is empty.
  Finder(bool several, fs::path parent) : several_(several), parent_(std::move(parent)) {}

  void add(const std::string& given) {
    if (given == kStandardInput) {
      if (seen_.insert(given).second) found_.logs.push_back({given, given, "."});
      return;
    }
    std::error_code failed;
    const fs::file_status status = fs::status(given, failed);
    if (!fs::exists(status)) {
      const bool is_missing = status.type() == fs::file_type::not_found;
      problem(given, is_missing ? "no such file or folder" : failed.message(), is_missing);
    } else if (fs::is_directory(status)) {
      walk(given);
    } else {
      take(given, fs::path(given).parent_path(), given);
    }
  }

  FoundLogs take_found() && {
    std::stable_sort(
        found_.logs.begin(), found_.logs.end(),
        [](const FoundLog& a, const FoundLog& b) { return natural_less(a.name, b.name); });
    return std::move(found_);
  }

 private:
  void problem(const std::string& path, const std::string& reason, bool missing = false) {
    found_.problems.push_back({path, reason, missing});
  }

  void walk(const std::string& given) {
    std::error_code failed;
    bool any = false;
    constexpr auto kOptions = fs::directory_options::none;
    fs::recursive_directory_iterator entry(given, kOptions, failed);
    const fs::recursive_directory_iterator end;
    while (!failed && entry != end) {
      std::error_code ignored;
      if (is_result(entry->path())) any = take_found_below(*entry, given) || any;
      const bool is_folder = entry->is_directory(ignored) && !entry->is_symlink(ignored);
      if (is_folder && !is_readable(entry->path())) entry.disable_recursion_pending();
      entry.increment(failed);
    }
    if (failed) {
      problem(given, failed.message());
    } else if (!any) {
      problem(given, "expected result_*.txt below, found none", true);
    }
  }

  /// Takes what is named as a log in the folder `given`. Reports what is no file, or a link to
  /// none: a run that is passed over in silence would change the figures of its set. Returns
  /// whether it is a log.
  bool take_found_below(const fs::directory_entry& entry, const std::string& given) {
    std::error_code failed;
    const fs::file_type type = entry.status(failed).type();
    if (type == fs::file_type::regular) {
      take(entry.path(), given, given);
      return true;
    }
    if (type == fs::file_type::directory) return false;
    problem(entry.path().string(), type == fs::file_type::not_found ? "is a link that leads nowhere"
                                   : type == fs::file_type::none
                                       ? failed.message()
                                       : "expected a regular file, found a pipe or device");
    return false;
  }

  /// Reports a folder that cannot be opened, so that the walk can skip it.
  bool is_readable(const fs::path& folder) {
    std::error_code failed;
    const fs::directory_iterator opened(folder, failed);
    if (failed) problem(folder.string(), failed.message());
    return !failed;
  }

  void take(const fs::path& path, const fs::path& root, const std::string& given) {
    if (!seen_.insert(canonical(path)).second) return;
    fs::path name = path_below(path, root);
    if (name.empty() || path == fs::path(given)) name = path.filename();
    if (several_) name = name_among_several(path.lexically_normal());
    const fs::path folder = name.parent_path();
    found_.logs.push_back(
        {path, name.generic_string(), folder.empty() ? "." : folder.generic_string()});
  }

  /// `path` without symbolic links. Resolves the folder once for consecutive files of it.
  fs::path canonical(const fs::path& path) {
    std::error_code failed;
    const auto or_itself = [&](const fs::path& one) {
      fs::path found = fs::weakly_canonical(one, failed);
      return failed ? one : found;
    };
    const fs::path folder = path.parent_path();
    if (folder.empty() || fs::is_symlink(fs::symlink_status(path, failed))) return or_itself(path);
    if (folder != folder_) {
      folder_ = folder;
      canonical_folder_ = or_itself(folder);
    }
    return canonical_folder_ / path.filename();
  }

  fs::path name_among_several(const fs::path& path) const {
    const fs::path name = parent_.empty() ? path : path.lexically_relative(parent_);
    return name.empty() ? path : name;
  }

  bool several_;
  fs::path parent_;
  std::set<fs::path> seen_;
  fs::path folder_, canonical_folder_;  ///< of the last file
  FoundLogs found_;
};

}  // namespace

fs::path full_path(const fs::path& path) {
  std::error_code failed;
  fs::path full = fs::absolute(path, failed);
  if (failed) return path;
  // Most paths are normal already, and testing that is cheap.
  const std::string_view text = full.native();
  const bool may_be_odd = text.find("//") != text.npos || text.find("/.") != text.npos;
  return may_be_odd ? full.lexically_normal() : full;
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

std::string folder_name(const fs::path& path) {
  std::error_code failed;
  fs::path full = fs::canonical(path, failed);
  if (failed) full = full_path(path);
  return (full.has_filename() ? full : full.parent_path()).filename().string();
}

fs::path submission_around(const fs::path& path) {
  for (fs::path at = path; at != at.parent_path(); at = at.parent_path()) {
    if (at.filename() == "results") return at.parent_path();
  }
  return {};
}

bool is_result(const fs::path& path) {
  std::string_view name = path.native();
  name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));  // npos + 1 is 0
  constexpr std::string_view kFront = "result_", kEnd = ".txt";
  return name.size() >= kFront.size() + kEnd.size() && name.starts_with(kFront) &&
         name.ends_with(kEnd);
}

bool natural_less(const std::string& one, const std::string& other) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < one.size() && j < other.size()) {
    if (is_digit(one[i]) && is_digit(other[j])) {
      const std::size_t one_end = number_end(one, i);
      const std::size_t other_end = number_end(other, j);
      const std::string_view a = digits(one, i, one_end);
      const std::string_view b = digits(other, j, other_end);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      i = one_end;
      j = other_end;
    } else if (one[i] != other[j]) {
      return one[i] < other[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (i < one.size() || j < other.size()) return i == one.size();
  return one < other;  // equal but for leading zeros
}

FoundLogs find_logs(const std::vector<std::string>& paths) {
  std::vector<std::string> expanded;
  for (const std::string& path : paths) expand(path, expanded);
  const bool several = expanded.size() > 1;
  Finder finder(several, several ? common_parent(expanded) : fs::path());
  for (const std::string& path : expanded) finder.add(path);
  return std::move(finder).take_found();
}

}  // namespace analysis
