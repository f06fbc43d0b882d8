// Lists the samples of a folder or archive of images.
#include "staging/dataset/list_samples.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "runner/base/archive_path.h"
#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "staging/dataset/arrange.h"
#include "staging/dataset/file.h"
#include "staging/dataset/tar.h"
#include "staging/dataset/tar_listing.h"

namespace dataset {
namespace {

namespace fs = std::filesystem;

std::string stem(std::string_view archive) {
  return std::string(archive.substr(0, archive.rfind('.')));
}

/// Walks an archive, or only a folder in it, and the class archives there.
class TarLister {
 public:
  /// `folder`: "" for all of the archive.
  TarLister(const File& file, const std::string& folder, Findings& findings)
      : file_(file), below_(folder.empty() ? "" : folder + "/"), findings_(findings) {}

  /// `prefix`: "" for the outer archive, "n01440764/" for a class archive.
  void walk(const std::string& label, const std::string& prefix, std::int64_t begin,
            std::int64_t end) {
    TarWalker walker(file_, label, begin, end);
    Links links;
    for (TarMember member; walker.next(member);) {
      if (prefix.empty()) {
        if (!member.name.starts_with(below_)) continue;
        member.name.erase(0, below_.size());
      }
      if (member.name.empty()) continue;
      if (member.kind == TarMember::Kind::kFolder) {
        if (prefix.empty() && !is_hidden(member.name)) findings_.folders.push_back(member.name);
        continue;
      }
      take(label, prefix, member, links);
    }
    if (!links.empty()) follow(links, TarWalker(file_, label, begin, end), label, prefix);
  }

 private:
  using Links = std::vector<TarMember>;

  /// Adds the images that are hard links to members of the same archive. Their data is the
  /// target's.
  void follow(const Links& links, TarWalker walker, const std::string& label,
              const std::string& prefix) {
    std::unordered_map<std::string, std::optional<Listing::Sample>> targets;
    for (const TarMember& link : links) targets.emplace(link.target, std::nullopt);
    for (TarMember member; walker.next(member);) {
      const auto target = targets.find(member.name);
      const bool is_wanted = target != targets.end() && member.kind == TarMember::Kind::kFile;
      if (is_wanted) target->second = sample_of(member);
    }
    for (const TarMember& link : links) {
      const auto& found = targets.at(link.target);
      if (!found) {
        throw base::DataError(fmt::format(
            "{}: offset {}: '{}' is a hard link to '{}'; expected this file in the same "
            "archive",
            label, link.header_offset, link.name, link.target));
      }
      findings_.add(prefix + link.name, *found);
    }
  }

  void take(const std::string& label, const std::string& prefix, const TarMember& member,
            Links& links) {
    if (climbs(member.name)) {
      throw base::DataError(fmt::format(
          "{}: offset {}: '{}' leads out of the archive; expected paths such as class/image.JPEG",
          label, member.header_offset, member.name));
    }
    const FileUse use = use_of(member.name);
    if (use == FileUse::kIgnored || (use == FileUse::kArchive && !prefix.empty())) {
      findings_.leave_out(prefix + member.name);
      return;
    }
    if (use == FileUse::kImage && member.kind == TarMember::Kind::kHardLink) {
      links.push_back(member);
      return;
    }
    if (member.kind != TarMember::Kind::kFile) {
      throw base::DataError(fmt::format(
          "{}: offset {}: '{}' is a link or special file; expected the image itself, as "
          "tar archives it with --dereference and without --sparse",
          label, member.header_offset, member.name));
    }
    if (use == FileUse::kImage) {
      if (member.size > kMostImageBytes) {
        throw base::DataError(
            fmt::format("{}: offset {}: '{}': expected an image of at most {} bytes, found {}",
                        label, member.header_offset, member.name, kMostImageBytes, member.size));
      }
      findings_.add(prefix + member.name, sample_of(member));
      return;
    }
    const std::string class_name = stem(member.name);
    findings_.folders.push_back(class_name);
    walk(label + ": " + member.name, class_name + "/", member.data_offset,
         member.data_offset + member.size);
  }

  const File& file_;
  const std::string below_;  ///< how names begin in the folder
  Findings& findings_;
};

void list_tar(const base::ArchivePath& path, Findings& findings, Listing& listing) {
  const File file(path.file);
  begin_listing(file, listing);
  TarLister(file, path.below, findings).walk(path.file, "", 0, file.size());
  if (path.below.empty() || !findings.images.empty() || !findings.folders.empty()) return;
  throw base::DataError(fmt::format("{}/{}: expected a folder of images in the archive, found none",
                                    path.file, base::printable(path.below)));
}

/// Lists the images of one folder. A class folder must not contain folders.
void list_class_folder(const fs::path& folder, const std::string& name, Findings& findings,
                       bool is_flat) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (is_hidden(file)) {
      ++findings.ignored_files;
      continue;
    }
    const std::string path = name.empty() ? file : name + "/" + file;
    if (entry.is_directory()) {
      if (!is_flat) {
        throw base::DataError(fmt::format("{}: a folder inside a class folder; expected images",
                                          entry.path().string()));
      }
      continue;
    }
    if (use_of(file) == FileUse::kImage) {
      findings.add(path, {});
    } else {
      findings.leave_out(path);
    }
  }
}

void list_folder(const std::string& path, const OpenOptions& options, Findings& findings) {
  list_class_folder(path, "", findings, true);
  if (!options.labels_file.empty()) return;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (is_hidden(name) || !entry.is_directory()) continue;
    findings.folders.push_back(name);
    list_class_folder(entry.path(), name, findings, false);
  }
}

}  // namespace

Listing list_samples(const std::string& path, const OpenOptions& options) {
  Listing listing;
  listing.root = path;
  Findings findings;
  findings.activity = options.activity;
  try {
    if (const auto archive = base::archive_path(path)) {
      list_tar(*archive, findings, listing);
    } else if (fs::exists(path)) {
      list_folder(path, options, findings);
    } else {
      throw base::DataError(
          fmt::format("{}: expected a folder or tar archive, found nothing", path));
    }
  } catch (const fs::filesystem_error& e) {
    throw base::DataError(
        fmt::format("{}: cannot be listed: {}", e.path1().string(), e.code().message()));
  }
  arrange(std::move(findings), options, listing);
  return listing;
}

}  // namespace dataset
