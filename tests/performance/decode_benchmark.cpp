// Measures decoding and augmentation of images for ResNet-50, in images per second of one core,
// from files in memory.
//   decode_benchmark FOLDER [options of the benchmark library]
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/file.h"
#include "workloads/resnet50/preprocess.h"

namespace {

constexpr int kImageSize = 224;

using Files = std::vector<std::vector<std::byte>>;

Files files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  Files files;
  for (const std::string& path : paths) {
    const dataset::File file(path);
    files.emplace_back(static_cast<std::size_t>(file.size()));
    file.read(0, files.back());
  }
  return files;
}

/// An iteration is one image.
void views(benchmark::State& state, const Files& files, resnet50::Style style) {
  const resnet50::Preprocess preprocess(style, kImageSize);
  std::vector<float> out(static_cast<std::size_t>(preprocess.sample_floats()));
  std::uint64_t drawn = 0;
  for (auto _ : state) {
    const std::uint64_t at = drawn % files.size();
    base::RandomStream random(1, base::Purpose::kAugment, drawn / files.size(), at);
    const dataset::Image image = dataset::decode_region(
        files[at], "image",
        [&](int height, int width) { return preprocess.draw_region(height, width, random); });
    preprocess.train(image, random, out);
    benchmark::DoNotOptimize(out.data());
    ++drawn;
  }
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (count != 2) {
    std::cerr << "decode_benchmark: expected a folder of images\n";
    return 2;
  }
  const Files files = files_in(arguments[1]);
  if (files.empty()) {
    std::cerr << arguments[1] << ": expected images\n";
    return 2;
  }
  for (const auto& [name, style] : resnet50::style_choices()) {
    if (style == resnet50::Style::kCifar) continue;
    benchmark::RegisterBenchmark(name.c_str(), views, files, style);
  }
  benchmark::RunSpecifiedBenchmarks();
}
