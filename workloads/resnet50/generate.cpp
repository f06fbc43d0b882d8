// A learnable synthetic dataset in ImageNet's on-disk format.
// Hides drawing, encoding, threads, and how an interrupted run goes on.
#include "workloads/resnet50/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>
#include <vector>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "staging/dataset/encode.h"
#include "staging/generated_folder.h"
#include "staging/space.h"
#include "workloads/resnet50/draw.h"

namespace resnet50 {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kQuality = 90;
constexpr const char* kManifest = "dataset.json";
/// Raised whenever the same options give other bytes.
constexpr int kVersion = 1;

struct Split {
  const char* name;
  std::uint64_t number;  ///< enters the random stream
  std::int64_t per_class;
};

std::vector<Split> splits_of(const GenerateOptions& options) {
  return {{"train", 0, options.train_per_class}, {"validation", 1, options.validation_per_class}};
}

json manifest_of(const GenerateOptions& options) {
  return {{"generator", "trainmark generate resnet50"},
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
  const auto within = [](const char* name, std::int64_t value, std::int64_t low,
                         std::int64_t high) {
    if (value >= low && value <= high) return;
    throw base::ConfigError(
        fmt::format("generate: --{}: must be {} to {}, got {}", name, low, high, value));
  };
  within("classes", options.classes, 2, kMaxDrawnClasses);
  within("train-per-class", options.train_per_class, 1, kMostPerClass);
  within("validation-per-class", options.validation_per_class, 1, kMostPerClass);
  within("image-size", options.image_size, kLeastSize, kMostSize);
  within("threads", options.threads, 0, 4096);
  if (options.output.empty()) throw base::ConfigError("generate: --output: must not be empty");
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

/// Runs `work(0) ... work(count - 1)` on `threads` threads; rethrows the first exception.
void in_parallel(std::int64_t count, std::int64_t threads,
                 const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const auto loop = [&] {
    try {
      for (std::int64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::jthread> team;
  for (std::int64_t i = 1; i < std::min(threads, count); ++i) team.emplace_back(loop);
  loop();
  team.clear();
  if (error) std::rethrow_exception(error);
}

std::int64_t threads_of(const GenerateOptions& options) {
  return options.threads > 0 ? options.threads : base::usable_cpus();
}

/// A whole file or none: an interrupted write leaves a name that the next run overwrites.
void write_file(const std::string& path, std::span<const std::byte> data) {
  const std::string begun = path + "~";
  std::ofstream out(begun, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  out.close();
  std::error_code error;
  if (out) fs::rename(begun, path, error);
  if (!out || error) throw base::system_error(path + ": write failed", errno);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw base::SystemError(path + ": cannot be created: " + error.message());
}

/// One class after the other; images that an earlier run finished are kept.
std::int64_t write_folders(const GenerateOptions& options, const Split& split,
                           const std::string& folder) {
  std::atomic<std::int64_t> bytes = 0;
  for (std::int64_t label = 0; label < options.classes; ++label) {
    make_folder(fmt::format("{}/{}/{}", folder, split.name, class_name(label)));
    in_parallel(split.per_class, threads_of(options), [&](std::int64_t number) {
      const std::string path =
          fmt::format("{}/{}/{}", folder, split.name, file_name(label, number));
      std::error_code error;
      const auto there = fs::file_size(path, error);
      if (!error) {
        bytes += static_cast<std::int64_t>(there);
        return;
      }
      const auto data = draw_file(options, split, label, number);
      write_file(path, data);
      bytes += static_cast<std::int64_t>(data.size());
    });
  }
  return bytes;
}

/// Images are drawn in parallel, a class or a piece of one at a time, and written in order.
std::int64_t write_tar(const GenerateOptions& options, const Split& split,
                       const std::string& folder) {
  constexpr std::int64_t kPiece = 1024;
  const std::string path = fmt::format("{}/{}.tar", folder, split.name);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  dataset::TarWriter tar(out);
  std::int64_t bytes = 0;
  for (std::int64_t label = 0; label < options.classes; ++label) {
    tar.add_folder(class_name(label));
    for (std::int64_t first = 0; first < split.per_class; first += kPiece) {
      std::vector<std::vector<std::byte>> files(
          static_cast<std::size_t>(std::min(kPiece, split.per_class - first)));
      in_parallel(
          static_cast<std::int64_t>(files.size()), threads_of(options), [&](std::int64_t i) {
            files[static_cast<std::size_t>(i)] = draw_file(options, split, label, first + i);
          });
      for (std::size_t i = 0; i < files.size(); ++i) {
        tar.add_file(file_name(label, first + static_cast<std::int64_t>(i)), files[i]);
        bytes += static_cast<std::int64_t>(files[i].size());
      }
    }
  }
  tar.finish();
  out.close();
  if (!out) throw base::system_error(path + ": write failed", errno);
  return bytes;
}

staging::GeneratedFolder folder_of(const GenerateOptions& options) {
  return {options.output, kManifest, manifest_of(options)};
}

GenerateResult write_all(const GenerateOptions& options, const staging::GeneratedFolder& folder) {
  const std::string part = folder.begin();
  GenerateResult result;
  for (const Split& split : splits_of(options)) {
    result.bytes +=
        options.tar ? write_tar(options, split, part) : write_folders(options, split, part);
    result.files += options.classes * split.per_class;
  }
  folder.publish({{"files", result.files}, {"bytes", result.bytes}});
  return result;
}

}  // namespace

GenerateResult generate_images(const GenerateOptions& options) {
  check(options);
  const staging::GeneratedFolder folder = folder_of(options);
  if (!folder.is_there()) return write_all(options, folder);
  const json manifest = folder.manifest();
  return {true, manifest.value("files", std::int64_t{0}), manifest.value("bytes", std::int64_t{0})};
}

json generate_plan(const GenerateOptions& options) {
  check(options);
  const staging::GeneratedFolder folder = folder_of(options);
  const Split train = splits_of(options).front();
  std::int64_t files = 0, sampled = 0;
  for (const Split& split : splits_of(options)) files += options.classes * split.per_class;
  const std::int64_t samples = std::min<std::int64_t>(8, options.classes);
  for (std::int64_t label = 0; label < samples; ++label) {
    sampled += static_cast<std::int64_t>(draw_file(options, train, label, 0).size());
  }
  json plan = manifest_of(options);
  plan["output"] = folder.output();
  plan["files"] = files;
  plan["estimated_bytes"] = sampled / samples * files;
  plan["free_bytes"] = staging::space_near(folder.output()).free_bytes;
  plan["already_there"] = folder.is_there();
  return plan;
}

}  // namespace resnet50
