// Fixture for tests of stored packs: samples in memory, their packs, and a folder for their copy.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/temporary_directory.h"
#include "staging/made_dataset.h"
#include "staging/pack_file.h"
#include "staging/pack_store.h"
#include "staging/set_record.h"

namespace staging {

/// The packs of a dataset, of about `pack_bytes` each.
inline PackList packs_of(const dataset::Dataset& source, std::int64_t pack_bytes) {
  std::vector<ListedSample> samples;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const auto stamp = source.stamp(i);
    samples.push_back({stamp.bytes, hash_of_stamp(i, stamp)});
  }
  std::vector<Pack> packs;
  for (const PackPart& part : cut(samples, 0, 0, pack_bytes)) packs.push_back(part.part);
  return {std::move(packs), source.size()};
}

/// Eight packs of five samples.
class Packs : public testing::Test {
 protected:
  static constexpr std::int64_t kPacks = 8, kSamplesOfPack = 5, kSamples = 40;

  Packs() {
    std::filesystem::create_directory(folder());
    write_record(folder(), record());
  }
  std::string folder() const { return folder_.path().string() + "/set"; }
  SetRecord record() const {
    return {list_->identity(*source_),
            source_->source(),
            list_->count(),
            kSamples,
            list_->bytes(),
            "a test",
            false};
  }
  PackStore store() const { return {folder(), record()}; }
  std::vector<std::byte> image(std::int64_t number) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(image_bytes(*list_, number)));
    read_pack(*source_, *list_, store().name(number), bytes);
    return bytes;
  }
  void put(std::int64_t first, std::int64_t last) const {
    for (std::int64_t number = first; number < last; ++number) {
      store().put(number, image(number), Durability::kCached);
    }
  }
  static void write(const std::string& path, const std::vector<std::byte>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  /// Overwrites one byte by another.
  static void damage(const std::string& path, std::int64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const int before = file.get();
    file.seekp(offset);
    file.put(static_cast<char>(before ^ 1));
  }
  static std::vector<std::byte> content(const dataset::Dataset& data, std::int64_t index) {
    std::vector<std::byte> bytes;
    data.read(index, bytes);
    return bytes;
  }

  base::TemporaryDirectory folder_;
  std::shared_ptr<MadeDataset> source_ =
      std::make_shared<MadeDataset>(std::vector<std::int64_t>(kSamples, 20));
  std::shared_ptr<const PackList> list_ =
      std::make_shared<const PackList>(packs_of(*source_, 20 * kSamplesOfPack));
};

}  // namespace staging
