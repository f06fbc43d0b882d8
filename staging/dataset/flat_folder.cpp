// The listing of a folder of samples, one file each, on disk or in an archive.
#include "staging/dataset/flat_folder.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/archive_path.h"
#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "staging/dataset/arrange.h"
#include "staging/dataset/expand.h"
#include "staging/dataset/tar.h"
#include "staging/dataset/tar_listing.h"

namespace dataset {
namespace {

namespace fs = std::filesystem;

/// What a folder has, in any order.
struct FlatFindings {
  struct File {
    std::int64_t name = 0;  ///< offset in `names`
    Listing::Sample sample;
  };
  std::string names;  ///< zero-terminated
  std::vector<File> samples;
  std::string other;  ///< the first refused name in byte order
  std::string fault;  ///< of a sample; or ""
  std::int64_t ignored = 0;

  void add(std::string_view name, Listing::Sample sample) {
    samples.push_back({static_cast<std::int64_t>(names.size()), sample});
    names.append(name).push_back('\0');
  }
  /// Of a file that is no sample.
  void leave_out(const std::string& name, Others others) {
    if (is_hidden(name) || others == Others::kIgnored) {
      ++ignored;
    } else if (other.empty() || name < other) {
      other = name;
    }
  }
  std::string_view name(const File& file) const { return names.data() + file.name; }
};

FlatFindings walk_folder(const std::string& path, const FlatFolder& folder,
                         base::Activity* activity) {
  FlatFindings found;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!is_hidden(name) && folder.is_sample(name) && !entry.is_directory()) {
      Listing::Sample sample;
      sample.position = static_cast<std::int64_t>(found.names.size());
      found.add(name, sample);
    } else {
      found.leave_out(name, folder.others);
    }
    if (activity != nullptr) activity->progress();
  }
  return found;
}

/// Adds a member with a sample's name to `found`.
void take_member(const File& file, const TarMember& member, std::string_view name,
                 FlatFindings& found) {
  if (member.kind == TarMember::Kind::kFile) return found.add(name, sample_of(member));
  if (!found.fault.empty()) return;
  found.fault = fmt::format(
      "{}: offset {}: '{}' is a link or special file; expected the sample itself, as "
      "tar archives it with --dereference --hard-dereference and without --sparse",
      file.path(), member.header_offset, base::printable(member.name));
}

/// Whether a folder of the path, or what it leads to, is hidden.
bool has_hidden_part(std::string_view path) {
  return path.starts_with('.') || path.find("/.") != std::string_view::npos;
}

/// The folder of an archive that is meant, by what its folders have.
FlatFindings folder_meant(const base::ArchivePath& path, const FlatFolder& folder,
                          std::map<std::string, FlatFindings> folders) {
  const auto has_samples = [](const FlatFindings& found) {
    return !found.samples.empty() || !found.fault.empty();
  };
  FlatFindings& named = folders[path.below];
  std::vector<std::string> others;
  for (const auto& [name, found] : folders) {
    if (has_samples(found) && &found != &named) others.push_back(name);
  }
  if (has_samples(named) || others.empty()) return std::move(named);
  if (path.below.empty() && others.size() == 1) return std::move(folders.at(others.front()));
  constexpr std::size_t kMostTold = 8;
  const char* const rest = others.size() > kMostTold ? " and others" : "";
  const std::string example =
      others.back().empty() ? path.file : fmt::format("{}/{}", path.file, others.back());
  others.resize(std::min(others.size(), kMostTold));
  for (std::string& name : others) {
    name = name.empty() ? "its top" : fmt::format("'{}'", base::printable(name));
  }
  throw base::DataError(
      fmt::format("{}{}{}: expected {}, found them in {}{}; name one of these, such as {}",
                  path.file, path.below.empty() ? "" : "/", base::printable(path.below),
                  folder.samples, fmt::join(others, ", "), rest, base::printable(example)));
}

/// Lists one folder of an archive, and fills in what `listing` knows of the archive.
FlatFindings walk_archive(const base::ArchivePath& path, const FlatFolder& folder, Listing& listing,
                          base::Activity* activity) {
  const File file(path.file);
  begin_listing(file, listing);
  std::map<std::string, FlatFindings> folders;
  TarWalker walker(file, path.file, 0, file.size());
  for (TarMember member; walker.next(member);) {
    if (activity != nullptr) activity->progress();
    if (member.kind == TarMember::Kind::kFolder) continue;
    if (member.name.empty()) continue;
    const std::size_t slash = member.name.rfind('/');
    const bool is_below = slash != std::string::npos;
    const std::string below = is_below ? member.name.substr(0, slash) : "";
    if (has_hidden_part(below)) continue;
    FlatFindings& found = folders[below];
    const std::string name = is_below ? member.name.substr(slash + 1) : member.name;
    if (!is_hidden(name) && folder.is_sample(name)) {
      take_member(file, member, name, found);
    } else {
      found.leave_out(name, folder.others);
    }
  }
  return folder_meant(path, folder, std::move(folders));
}

/// The sample's name without the ending of a compressed file.
std::string_view sample_name(const FlatFindings& found, const FlatFindings::File& file) {
  return without_compression(found.name(file));
}

/// Tools that compress often leave the plain file.
void require_once(const FlatFindings& found, const std::string& path) {
  const auto twice = std::adjacent_find(
      found.samples.begin(), found.samples.end(),
      [&](const auto& a, const auto& b) { return sample_name(found, a) == sample_name(found, b); });
  if (twice == found.samples.end()) return;
  throw base::DataError(
      fmt::format("{}: expected each sample once, found '{}' and '{}'; remove one", path,
                  base::printable(found.name(*twice)), base::printable(found.name(*(twice + 1)))));
}

void sort_samples(FlatFindings& found) {
  std::sort(found.samples.begin(), found.samples.end(), [&](const auto& a, const auto& b) {
    const int order = sample_name(found, a).compare(sample_name(found, b));
    return order != 0 ? order < 0 : found.name(a) < found.name(b);
  });
}

}  // namespace

Listing list_flat_folder(const std::string& path, const FlatFolder& folder,
                         base::Activity* activity) {
  Listing listing;
  listing.root = path;
  listing.is_flat = true;
  listing.class_names = listing.folder_names = {""};
  FlatFindings found;
  try {
    const auto inside = base::archive_path(path);
    found = inside ? walk_archive(*inside, folder, listing, activity)
                   : walk_folder(path, folder, activity);
  } catch (const fs::filesystem_error& e) {
    throw base::DataError(fmt::format("{}: cannot be listed: {}", path, e.code().message()));
  }
  if (!found.fault.empty()) throw base::DataError(found.fault);
  if (!found.other.empty()) {
    throw base::DataError(fmt::format("{}: expected {}, found '{}'", path, folder.samples,
                                      base::printable(found.other)));
  }
  if (found.samples.empty()) {
    throw base::DataError(fmt::format("{}: expected {}, found none", path, folder.samples));
  }
  sort_samples(found);
  require_once(found, path);
  listing.ignored_files = found.ignored;
  listing.samples.reserve(found.samples.size());
  for (const FlatFindings::File& file : found.samples) listing.samples.push_back(file.sample);
  const bool is_compressed = std::any_of(
      found.samples.begin(), found.samples.end(),
      [&](const FlatFindings::File& file) { return may_be_compressed(found.name(file)); });
  if (listing.kind == Listing::Kind::kTar) {
    listing.may_be_compressed = is_compressed;
  } else {
    found.names.shrink_to_fit();
    listing.names = std::move(found.names);
  }
  return listing;
}

}  // namespace dataset
