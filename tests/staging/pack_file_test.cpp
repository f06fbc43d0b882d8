// Tests of a pack as bytes: what is read from it, and that no damage is overlooked.
#include "staging/pack_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/hash.h"
#include "staging/pack_fixture.h"

namespace staging {
namespace {

using testing::HasSubstr;
using PackFile = Packs;

constexpr std::int64_t kTrailer = 64;

std::string problem_of(const std::vector<std::byte>& image, PackName name) {
  return base::thrown_message<base::DataError>([&] { check_pack(image, name, "here"); });
}

/// Gives the trailer's word at `word` (0..6) another value, and the trailer its checksum.
void set_trailer_word(std::vector<std::byte>& image, std::size_t word, std::uint64_t value) {
  std::byte* const trailer = image.data() + image.size() - kTrailer;
  std::memcpy(trailer + word * sizeof(value), &value, sizeof(value));
  const std::uint64_t hash = hash_of(std::span(trailer, kTrailer - sizeof(value)));
  std::memcpy(trailer + kTrailer - sizeof(hash), &hash, sizeof(hash));
}

TEST_F(PackFile, GivesBackEverySample) {
  const std::string path = folder() + "/pack";
  for (const std::int64_t number : {std::int64_t{0}, kPacks - 1}) {
    const PackName name = store().name(number);
    write(path, image(number));
    const dataset::File file(path);
    const PackIndex index = read_pack_index(file, name);
    EXPECT_EQ(index.first, number * kSamplesOfPack);
    ASSERT_EQ(std::ssize(index.places), kSamplesOfPack);
    for (std::int64_t i = 0; i < kSamplesOfPack; ++i) {
      const SamplePlace& place = index.places[static_cast<std::size_t>(i)];
      std::vector<std::byte> sample(place.size);
      file.read(place.offset, sample);
      EXPECT_EQ(sample, content(*source_, index.first + i));
      check_sample(sample, place, index.first + i, path);
    }
    const PackFacts facts = check_trailer(file, name);
    EXPECT_EQ(facts.samples, kSamplesOfPack);
    EXPECT_EQ(facts.bytes, 20 * kSamplesOfPack);
  }
}

TEST_F(PackFile, TellsABlankImageFromPacks) {
  std::vector<std::byte> blank = image(0);
  EXPECT_FALSE(is_blank(blank));
  make_blank(blank);
  EXPECT_TRUE(is_blank(blank));
  EXPECT_THAT(problem_of(blank, store().name(0)), HasSubstr("expected a trailer"));
}

TEST_F(PackFile, TakesSamplesInAnyOrderAndOfNoBytes) {
  class Backwards final : public dataset::Dataset {
   public:
    explicit Backwards(const MadeDataset& data) : data_(data) {}
    std::int64_t size() const override { return data_.size(); }
    const std::vector<std::string>& class_names() const override { return data_.class_names(); }
    std::int32_t label(std::int64_t index) const override { return data_.label(index); }
    std::int64_t bytes(std::int64_t index) const override { return data_.bytes(index); }
    void read(std::int64_t index, std::vector<std::byte>& out) const override {
      data_.read(index, out);
    }
    std::string name(std::int64_t index) const override { return data_.name(index); }
    std::int64_t read_many(std::span<const std::int64_t> indices, const Room& room) const override {
      for (auto index = indices.rbegin(); index != indices.rend(); ++index) {
        const std::vector<std::byte> bytes = content(data_, *index);
        std::ranges::copy(bytes, room(*index, data_.stamp(*index)).begin());
      }
      return 1;
    }

   private:
    const MadeDataset& data_;
  };
  const MadeDataset made({3, 0, 5, 1, 0});
  const PackList list = packs_of(made, 1 << 10);
  ASSERT_EQ(list.count(), 1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(image_bytes(list, 0)));
  EXPECT_EQ(read_pack(Backwards(made), list, {1, 0}, bytes), 1);
  check_pack(bytes, {1, 0}, "here");
  const std::string path = folder() + "/pack";
  write(path, bytes);
  const dataset::File file(path);
  const PackIndex index = read_pack_index(file, {1, 0});
  for (std::size_t i = 0; i < index.places.size(); ++i) {
    std::vector<std::byte> sample(index.places[i].size);
    file.read(index.places[i].offset, sample);
    EXPECT_EQ(sample, content(made, static_cast<std::int64_t>(i)));
  }
}

TEST_F(PackFile, IsRefusedWhereverOneByteIsFlipped) {
  const std::vector<std::byte> whole = image(3);
  const PackName name = store().name(3);
  check_pack(whole, name, "here");
  const std::string path = folder() + "/pack";
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> damaged = whole;
    damaged[i] ^= std::byte{4};
    EXPECT_THAT(problem_of(damaged, name), testing::StartsWith("here: ")) << i;
    if (i < 20 * kSamplesOfPack) continue;  // read_pack_index() reads no samples
    write(path, damaged);
    const dataset::File file(path);
    EXPECT_THROW(read_pack_index(file, name), base::DataError) << i;
  }
}

TEST_F(PackFile, SaysWhatDiffers) {
  const PackName name = store().name(3);
  std::vector<std::byte> damaged = image(3);
  damaged[45] ^= std::byte{4};
  EXPECT_EQ(problem_of(damaged, name),
            "here: offset 40: 20 bytes of sample 17 differ from what was staged (XXH3)");
  damaged = image(3);
  damaged[20 * kSamplesOfPack + 1] ^= std::byte{4};
  EXPECT_EQ(problem_of(damaged, name),
            "here: pack 3: the places of its samples differ from their checksum (XXH3)");
  damaged = image(3);
  damaged[damaged.size() - 1] ^= std::byte{4};
  EXPECT_EQ(problem_of(damaged, name),
            "here: pack 3: its trailer differs from its checksum (XXH3)");
  EXPECT_THAT(problem_of({}, name), HasSubstr("expected at least 64 bytes, found 0"));
  EXPECT_THAT(problem_of(std::vector<std::byte>(100), name), HasSubstr("not a pack"));
}

TEST_F(PackFile, IsRefusedUnderTheNameOfAnotherPackOrSet) {
  const std::vector<std::byte> whole = image(3);
  const PackName name = store().name(3);
  EXPECT_THAT(problem_of(whole, {name.set, 4}), HasSubstr("found that of pack 3 of set"));
  EXPECT_THAT(problem_of(whole, {name.set + 1, 3}), HasSubstr("expected the trailer of set"));
}

TEST_F(PackFile, TrustsNoCountsOfItsTrailer) {
  constexpr std::uint64_t kVast = std::uint64_t{1} << 60, kNegative = ~std::uint64_t{0};
  const PackName name = store().name(3);
  const std::string path = folder() + "/pack";
  for (const std::size_t word : {3U, 4U, 5U}) {  // first sample, samples, bytes
    for (const std::uint64_t value : {kVast, kNegative, std::uint64_t{0}, std::uint64_t{1}}) {
      if (word == 3 && value != kNegative) continue;  // any sample may be the first
      std::vector<std::byte> damaged = image(3);
      set_trailer_word(damaged, word, value);
      EXPECT_THAT(problem_of(damaged, name), HasSubstr("bytes with places and trailer"))
          << word << " " << value;
      write(path, damaged);
      const dataset::File file(path);
      EXPECT_THROW(check_trailer(file, name), base::DataError);
    }
  }
}

TEST_F(PackFile, TrustsNoPlaceBeyondItsSamples) {
  const PackName name = store().name(3);
  std::vector<std::byte> damaged = image(3);
  const std::span<std::byte> index = std::span(damaged).subspan(20 * kSamplesOfPack, 16 * 5);
  const auto place_at = [&](std::size_t sample, std::uint32_t offset, std::uint32_t size) {
    std::memcpy(index.data() + 16 * sample, &offset, sizeof(offset));
    std::memcpy(index.data() + 16 * sample + 4, &size, sizeof(size));
    set_trailer_word(damaged, 6, hash_of(index));
  };
  place_at(4, 81, 20);
  EXPECT_THAT(problem_of(damaged, name), HasSubstr("found one of 20 bytes at offset 81"));
  place_at(4, std::numeric_limits<std::uint32_t>::max(), 20);
  EXPECT_THAT(problem_of(damaged, name), HasSubstr("at offset 4294967295"));
  place_at(4, 80, 19);
  EXPECT_THAT(problem_of(damaged, name),
              HasSubstr("expected samples of 100 bytes in all, found 99"));
}

TEST_F(PackFile, NamesASourceThatChangedMeanwhile) {
  std::vector<std::byte> bytes = image(3);
  for (const auto& [size, found] :
       {std::pair(19, "99"), std::pair(21, "at least 101"), std::pair(5000, "at least 5040")}) {
    source_->sizes[17] = size;
    EXPECT_EQ(
        base::thrown_message<base::DataError>(
            [&] { read_pack(*source_, *list_, store().name(3), bytes); }),
        std::string("memory: changed while it was staged: expected 100 bytes in samples 15 to 19, "
                    "found ") +
            found);
  }
}

TEST_F(PackFile, RefusesASampleOfTheSameSizeThatWasReplaced) {
  std::vector<std::byte> bytes = image(3);
  const std::int64_t listed_ns = std::exchange(source_->mtime_ns, 6);
  EXPECT_EQ(base::thrown_message<base::DataError>(
                [&] { read_pack(*source_, *list_, store().name(3), bytes); }),
            "memory: changed while it was staged: expected samples 15 to 19 as they were listed, "
            "found other sizes or times of modification");
  source_->mtime_ns = listed_ns;
  read_pack(*source_, *list_, store().name(3), bytes);
}

TEST_F(PackFile, CanBeLeftBetweenTwoSamples) {
  std::vector<std::byte> bytes = image(3);
  int samples = 0;
  EXPECT_THROW(read_pack(*source_, *list_, store().name(3), bytes,
                         [&] {
                           if (++samples == 2) throw base::Error(base::ExitCode::kStopped, "");
                         }),
               base::Error);
  EXPECT_EQ(samples, 2);
}

TEST_F(PackFile, IsNotMadeOfFourGibibytes) {
  constexpr std::int64_t kFourGibibytes = std::int64_t{1} << 32;
  const PackList large({{0, kFourGibibytes, 0}}, 1);
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { check_pack_size(large, 0, "set.tar"); }),
              HasSubstr("set.tar: expected at most 4294967295 bytes"));
  check_pack_size(PackList({{0, kFourGibibytes - 1, 0}}, 1), 0, "set.tar");
}

TEST(Hash, IsXxh3WhateverInstructionsAreUsed) {
  const auto hash_of_bytes = [](std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
    return hash_of(bytes);
  };
  // Of the library's header, compiled for SSE2.
  EXPECT_EQ(hash_of_bytes(0), 0x2d06800538d394c2U);
  EXPECT_EQ(hash_of_bytes(100), 0x6dbb812cf19d012eU);
  EXPECT_EQ(hash_of_bytes(100'000), 0x01271d2740e5fca3U);
}

TEST(SetNumber, IsTheBeginningOfAnIdentity) {
  EXPECT_EQ(set_number("00000000000000ff0000000000000001"), 255U);
  EXPECT_THROW(set_number("ff"), base::DataError);
  EXPECT_THROW(set_number("../../../../../../etc"), base::DataError);
}

}  // namespace
}  // namespace staging
