// From the paths of images to classes, labels and order.
#include "staging/dataset/arrange.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <unordered_map>

#include "runner/base/error.h"
#include "runner/base/narrow.h"
#include "runner/base/printable.h"

namespace dataset {
namespace {

using Images = std::vector<Findings::Image>;

std::string lower_extension(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || path.find('/', dot) != std::string_view::npos) return "";
  std::string extension(path.substr(dot));
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

/// "n01440764/a.JPEG" -> "n01440764"; nullopt unless the path has exactly one folder.
std::optional<std::string_view> class_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || path.find('/', slash + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return path.substr(0, slash);
}

/// Returns "train/" when all images lie below that one folder: directly in it if the dataset is
/// flat, else in folders of it.
std::string common_folder(const Findings& findings, bool is_flat) {
  const std::string_view first = findings.path(findings.images.front());
  const std::size_t slash = first.find('/');
  if (slash == std::string_view::npos) return "";
  const std::string folder(first.substr(0, slash + 1));
  for (const auto& image : findings.images) {
    const std::string_view path = findings.path(image);
    const bool lies_deeper = path.find('/', folder.size()) != std::string_view::npos;
    if (!path.starts_with(folder) || lies_deeper == is_flat) return "";
  }
  return folder;
}

void strip_folder(Findings& findings, const std::string& folder) {
  for (auto& image : findings.images) image.path += static_cast<std::int64_t>(folder.size());
  std::vector<std::string> kept;
  for (const auto& name : findings.folders) {
    if (name + "/" == folder) continue;
    kept.push_back(name.starts_with(folder) ? name.substr(folder.size()) : name);
  }
  findings.folders = std::move(kept);
}

void sort_by_path(const Findings& findings, const std::string& root, Images& images) {
  // Characters such as '-' sort before '/', so compare folder and file name one after the other.
  const auto key = [&](const Findings::Image& image) {
    const std::string_view path = findings.path(image);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return std::pair{std::string_view(), path};
    return std::pair{path.substr(0, slash), path.substr(slash + 1)};
  };
  std::sort(images.begin(), images.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto same = std::adjacent_find(images.begin(), images.end(), [&](auto& a, auto& b) {
    return findings.path(a) == findings.path(b);
  });
  if (same != images.end()) {
    throw base::DataError(fmt::format("{}: '{}' is there twice", root, findings.path(*same)));
  }
}

std::vector<std::string> found_classes(const Findings& findings, const Listing& listing) {
  std::vector<std::string> found;  // ascending, as the images are sorted
  for (const auto& image : findings.images) {
    const std::string_view path = findings.path(image);
    const auto name = class_of(path);
    if (!name) {
      throw base::DataError(fmt::format(
          "{}: '{}': expected images in class folders (<class>/<image>){}", listing.root, path,
          path.find('/') == std::string_view::npos ? ", or a labels file beside a flat dataset"
                                                   : ""));
    }
    if (found.empty() || found.back() != *name) found.emplace_back(*name);
  }
  for (const auto& folder : findings.folders) {
    if (!std::binary_search(found.begin(), found.end(), folder)) {
      throw base::DataError(
          fmt::format("{}: class folder '{}' has no images", listing.root, folder));
    }
  }
  return found;
}

void label_by_folder(Findings& findings, const OpenOptions& options, Listing& listing) {
  const std::vector<std::string> found = found_classes(findings, listing);
  listing.class_names = options.class_names.empty() ? found : options.class_names;
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (const auto& name : listing.class_names) {
    ids.emplace(name, base::narrow<std::int32_t>(ids.size()));
  }
  for (auto& image : findings.images) {
    const std::string_view name = *class_of(findings.path(image));
    const auto id = ids.find(name);
    if (id == ids.end()) {
      throw base::DataError(fmt::format("{}: class '{}' is not one of the {} known classes",
                                        listing.root, name, ids.size()));
    }
    image.sample.label = id->second;
  }
  listing.folder_names = listing.class_names;
}

void label_by_file(Findings& findings, const OpenOptions& options, Listing& listing) {
  std::vector<std::string_view> names;
  names.reserve(findings.images.size());
  for (const auto& image : findings.images) {
    const std::string_view path = findings.path(image);
    if (path.find('/') != std::string_view::npos) {
      throw base::DataError(fmt::format(
          "{}: '{}': with a labels file, expected images without folders", listing.root, path));
    }
    names.push_back(path);
  }
  const auto labels = read_labels(names, options, listing);
  for (std::size_t i = 0; i < labels.size(); ++i) findings.images[i].sample.label = labels[i];
  listing.folder_names = {""};
  listing.is_flat = true;
}

void keep_names(const Findings& findings, Listing& listing) {
  for (std::size_t i = 0; i < findings.images.size(); ++i) {
    const std::string_view path = findings.path(findings.images[i]);
    listing.samples[i].position = static_cast<std::int64_t>(listing.names.size());
    listing.names.append(path.substr(path.rfind('/') + 1));
    listing.names.push_back('\0');
  }
  listing.names.shrink_to_fit();
}

}  // namespace

void Findings::add(std::string_view path, const Listing::Sample& sample) {
  images.push_back({static_cast<std::int64_t>(paths.size()), sample});
  paths.append(path);
  paths.push_back('\0');
  if (activity != nullptr) activity->progress();
}

void Findings::leave_out(std::string_view path) {
  ++ignored_files;
  if (is_hidden(path) || path.find('/') == std::string_view::npos) return;
  if (left_out++ == 0) first_left_out = path;
}

bool climbs(std::string_view path) {
  for (std::size_t at = path.find(".."); at != std::string_view::npos;
       at = path.find("..", at + 1)) {
    const bool begins = at == 0 || path[at - 1] == '/';
    const bool ends = at + 2 == path.size() || path[at + 2] == '/';
    if (begins && ends) return true;
  }
  return false;
}

bool is_hidden(std::string_view path) {
  return path.starts_with('.') || path.find("/.") != std::string_view::npos;
}

FileUse use_of(std::string_view path) {
  if (is_hidden(path)) return FileUse::kIgnored;
  constexpr std::array kImages = {".jpg", ".jpeg", ".png"};
  const std::string extension = lower_extension(path);
  if (extension == ".tar") return FileUse::kArchive;
  const bool is_image = std::find(kImages.begin(), kImages.end(), extension) != kImages.end();
  return is_image ? FileUse::kImage : FileUse::kIgnored;
}

void arrange(Findings findings, const OpenOptions& options, Listing& listing) {
  listing.ignored_files = findings.ignored_files;
  if (findings.images.empty()) {
    throw base::DataError(fmt::format("{}: no images (.jpg, .jpeg, .png) among {} files",
                                      listing.root, findings.ignored_files));
  }
  const bool is_flat = !options.labels_file.empty();
  if (findings.left_out > 0) {
    listing.remark =
        fmt::format("{}: {} in class folders left out, as no .jpg, .jpeg or .png: '{}'{}",
                    listing.root, base::counted(findings.left_out, "file"),
                    base::printable(findings.first_left_out), findings.left_out > 1 ? ", ..." : "");
  }
  // Archives often contain the folder that they were made from.
  if (listing.kind == Listing::Kind::kTar) strip_folder(findings, common_folder(findings, is_flat));
  sort_by_path(findings, listing.root, findings.images);
  if (is_flat) {
    label_by_file(findings, options, listing);
  } else {
    label_by_folder(findings, options, listing);
  }
  if (!options.class_names.empty() && !is_flat) {
    // The given order of class names may differ from the folders'.
    std::stable_sort(findings.images.begin(), findings.images.end(),
                     [](const auto& a, const auto& b) { return a.sample.label < b.sample.label; });
  }
  listing.samples.reserve(findings.images.size());
  for (const auto& image : findings.images) listing.samples.push_back(image.sample);
  if (listing.kind == Listing::Kind::kFolder) keep_names(findings, listing);
}

}  // namespace dataset
