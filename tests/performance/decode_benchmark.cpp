// Measures decoding and augmentation of images for ResNet-50, in images per second of one core,
// from files in memory.
//   decode_benchmark FOLDER [options of the benchmark library]
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/file.h"
#include "workloads/images/decoded_images.h"
#include "workloads/images/preprocess.h"

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

/// The view that training draws at `number`.
void draw(const Files& files, images::DecodedImages& kept, const images::Preprocess& preprocess,
          std::uint64_t number, std::vector<float>& out) {
  constexpr std::int64_t kNextUse = 1;
  const std::uint64_t at = number % files.size();
  const auto index = static_cast<std::int64_t>(at);
  base::RandomStream random(1, base::Purpose::kAugment, number / files.size(), at);
  const auto choose = [&](int height, int width) {
    return preprocess.draw_view(height, width, random);
  };
  auto image = kept.find(index, kNextUse, choose);
  if (!image) image = kept.decode(files[at], "image", index, kNextUse, choose);
  preprocess.train(*image, random, out);
}

/// The mean difference of scaled views from exact ones, absolute, in the style's values.
double difference(const Files& files, const images::Preprocess& scaled,
                  const images::Preprocess& exact) {
  constexpr std::uint64_t kEpochs = 4;
  std::vector<float> one(static_cast<std::size_t>(exact.sample_floats())), other(one.size());
  images::DecodedImages none(0);
  double sum = 0.0;
  for (std::uint64_t number = 0; number < kEpochs * files.size(); ++number) {
    draw(files, none, scaled, number, one);
    draw(files, none, exact, number, other);
    for (std::size_t i = 0; i < one.size(); ++i) sum += std::abs(one[i] - other[i]);
  }
  return sum / static_cast<double>(kEpochs * files.size() * one.size());
}

/// An iteration is one image. Those that fit into `kept_bytes` are decoded before.
void views(benchmark::State& state, const Files& files, images::Style style, bool scaled_decoding,
           std::int64_t kept_bytes) {
  const images::Preprocess exact(style, kImageSize);
  const images::Preprocess preprocess(style, kImageSize, 0, 0, scaled_decoding);
  std::vector<float> out(static_cast<std::size_t>(preprocess.sample_floats()));
  images::DecodedImages kept(kept_bytes);
  std::uint64_t drawn = 0;
  while (kept_bytes > 0 && drawn < files.size()) draw(files, kept, preprocess, drawn++, out);
  for (auto _ : state) {
    draw(files, kept, preprocess, drawn++, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
  if (scaled_decoding) state.counters["difference"] = difference(files, preprocess, exact);
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
  for (const auto& [name, style] : images::style_choices()) {
    if (style == images::Style::kCifar) continue;
    constexpr std::int64_t kEnough = std::int64_t{1} << 40;
    benchmark::RegisterBenchmark(name.c_str(), views, files, style, false, 0);
    benchmark::RegisterBenchmark((name + ", scaled").c_str(), views, files, style, true, 0);
    benchmark::RegisterBenchmark((name + ", kept").c_str(), views, files, style, false, kEnough);
  }
  benchmark::RunSpecifiedBenchmarks();
}
