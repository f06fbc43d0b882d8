// Samples of given sizes, names and labels in memory, for tests of packs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/dataset.h"

namespace staging {

/// Sample i has sizes[i] bytes, which differ from those of other samples. Counts what is asked.
class MadeDataset final : public dataset::Dataset {
 public:
  explicit MadeDataset(std::vector<std::int64_t> sizes_of_samples)
      : sizes(std::move(sizes_of_samples)) {
    for (std::size_t i = 0; i < sizes.size(); ++i) names.push_back("file " + std::to_string(i));
  }
  /// Sizes from 0 to `most`.
  static MadeDataset random(std::int64_t samples, std::uint32_t most) {
    base::RandomStream stream(1, base::Purpose::kGenerate, 0, 0);
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = 0; i < samples; ++i) sizes.push_back(stream.next_u32() % (most + 1));
    return MadeDataset(std::move(sizes));
  }

  std::int64_t size() const override { return std::ssize(sizes); }
  const std::vector<std::string>& class_names() const override { return classes; }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(index + first_label) % 2;
  }
  std::int64_t bytes(std::int64_t index) const override { return at(sizes, index); }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    ++reads;
    if (at_read) at_read(index);
    out.resize(static_cast<std::size_t>(bytes(index)));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::byte>(static_cast<std::size_t>(index + content) * 31 + i * 7);
    }
  }
  std::string name(std::int64_t index) const override { return at(names, index); }
  Stamp stamp(std::int64_t index) const override {
    ++stamps;
    if (at_stamp) at_stamp(index);
    return {bytes(index), mtime_ns, base::hash_name(name(index))};
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t bytes : sizes) sum += bytes;
    return sum;
  }

  std::vector<std::int64_t> sizes;
  std::vector<std::string> names, classes = {"even", "odd"};
  std::int64_t first_label = 0, mtime_ns = 5, content = 0;  ///< another content gives other bytes
  std::function<void(std::int64_t index)> at_read, at_stamp;
  mutable std::atomic<std::int64_t> reads{0}, stamps{0};

 private:
  template <class T>
  static const T& at(const std::vector<T>& values, std::int64_t index) {
    return values.at(static_cast<std::size_t>(index));
  }
};

}  // namespace staging
