// A learnable synthetic dataset in ImageNet's on-disk format.
#include "workloads/images/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "runner/base/for_each_index.h"
#include "runner/base/make_folder.h"
#include "runner/base/narrow.h"
#include "runner/base/random.h"
#include "staging/dataset/encode.h"
#include "staging/generated_files.h"
#include "workloads/images/draw.h"

namespace images {
namespace {

using nlohmann::json;

constexpr int kQuality = 90;
constexpr const char* kManifest = "dataset.json";
/// To be raised whenever the same options give other bytes.
constexpr int kVersion = 1;

struct Split {
  const char* name;
  std::uint64_t number;  ///< selects the random stream
  std::int64_t per_class;
};

std::vector<Split> splits_of(const GenerateOptions& options) {
  return {{"train", 0, options.train_per_class}, {"validation", 1, options.validation_per_class}};
}

json manifest_of(const GenerateOptions& options) {
  return {{"generator", "trainmark generate " + options.workload},
          {"version", kVersion},
          {"classes", options.classes},
          {"train_per_class", options.train_per_class},
          {"validation_per_class", options.validation_per_class},
          {"image_size", options.image_size},
          {"seed", options.seed},
          {"tar", options.tar}};
}

void check(const GenerateOptions& options) {
  constexpr std::int64_t kLeastSize = 8, kMostSize = 4096, kMostPerClass = 100'000'000;
  const auto within = synthetic::check_within<std::int64_t>;
  within("classes", options.classes, 2, kMaxDrawnClasses);
  within("train-per-class", options.train_per_class, 1, kMostPerClass);
  within("validation-per-class", options.validation_per_class, 1, kMostPerClass);
  within("image-size", options.image_size, kLeastSize, kMostSize);
  synthetic::check_usual_options(options);
}

std::string class_name(std::int64_t label) { return fmt::format("n{:08d}", label + 1); }

std::string file_name(std::int64_t label, std::int64_t number) {
  return fmt::format("{0}/{0}_{1}.JPEG", class_name(label), number);
}

std::vector<std::byte> draw_file(const GenerateOptions& options, const Split& split,
                                 std::int64_t label, std::int64_t number) {
  const std::int64_t place = label * split.per_class + number;
  base::RandomStream random(options.seed, base::Purpose::kGenerate, split.number,
                            static_cast<std::uint64_t>(place));
  return dataset::encode_jpeg(
      draw_image(label, options.classes, static_cast<int>(options.image_size), random), kQuality);
}

/// Runs `work(0) ... work(count - 1)` on options.threads threads.
void in_parallel(std::int64_t count, const GenerateOptions& options,
                 const std::function<void(std::int64_t)>& work) {
  base::for_each_index(base::narrow<std::size_t>(count), base::narrow<int>(options.threads),
                       [&](std::size_t place) { work(static_cast<std::int64_t>(place)); });
}

/// Writes one class after another; images that an earlier run finished are kept.
std::int64_t write_folders(const GenerateOptions& options, const Split& split,
                           const std::string& folder) {
  std::atomic<std::int64_t> bytes = 0;
  for (std::int64_t label = 0; label < options.classes; ++label) {
    base::make_folder(fmt::format("{}/{}/{}", folder, split.name, class_name(label)));
    in_parallel(split.per_class, options, [&](std::int64_t number) {
      bytes += staging::keep_or_write(
          fmt::format("{}/{}/{}", folder, split.name, file_name(label, number)),
          [&] { return draw_file(options, split, label, number); });
    });
  }
  return bytes;
}

/// Draws images in parallel, up to kPiece of a class at a time, and writes them in order.
std::int64_t write_tar(const GenerateOptions& options, const Split& split,
                       const std::string& folder) {
  constexpr std::int64_t kPiece = 1024;
  const std::string path = fmt::format("{}/{}.tar", folder, split.name);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const auto require_written = [&] {
    if (!out.flush()) throw base::system_error(path + ": cannot be written", errno);
  };
  require_written();
  dataset::TarWriter tar(out);
  std::int64_t bytes = 0;
  for (std::int64_t label = 0; label < options.classes; ++label) {
    tar.add_folder(class_name(label));
    for (std::int64_t first = 0; first < split.per_class; first += kPiece) {
      std::vector<std::vector<std::byte>> files(
          static_cast<std::size_t>(std::min(kPiece, split.per_class - first)));
      in_parallel(static_cast<std::int64_t>(files.size()), options, [&](std::int64_t i) {
        files[static_cast<std::size_t>(i)] = draw_file(options, split, label, first + i);
      });
      for (std::size_t i = 0; i < files.size(); ++i) {
        tar.add_file(file_name(label, first + static_cast<std::int64_t>(i)), files[i]);
        bytes += static_cast<std::int64_t>(files[i].size());
      }
      require_written();  // before hours of drawing for a full disk
    }
  }
  tar.finish();
  require_written();
  return bytes;
}

staging::GeneratedFolder folder_of(const GenerateOptions& options) {
  return {options.output, kManifest, manifest_of(options)};
}

GenerateResult write_all(const GenerateOptions& options, const std::string& part) {
  GenerateResult result;
  for (const Split& split : splits_of(options)) {
    result.bytes +=
        options.tar ? write_tar(options, split, part) : write_folders(options, split, part);
    result.files += options.classes * split.per_class;
  }
  return result;
}

}  // namespace

GenerateResult generate_images(const GenerateOptions& options) {
  check(options);
  return synthetic::generate_once(
      folder_of(options), [&](const std::string& part) { return write_all(options, part); });
}

json generate_plan(const GenerateOptions& options) {
  check(options);
  const Split train = splits_of(options).front();
  std::int64_t files = 0, sampled = 0;
  for (const Split& split : splits_of(options)) files += options.classes * split.per_class;
  const std::int64_t samples = std::min<std::int64_t>(8, options.classes);
  for (std::int64_t label = 0; label < samples; ++label) {
    sampled += static_cast<std::int64_t>(draw_file(options, train, label, 0).size());
  }
  return synthetic::plan_of(folder_of(options), files, sampled / samples * files);
}

}  // namespace images
