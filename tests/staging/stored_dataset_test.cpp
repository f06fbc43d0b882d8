// Tests of samples that are read from a copy, as far as there is one, or from their source.
#include "staging/stored_dataset.h"

#include <gmock/gmock.h>

#include <thread>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/pack_fixture.h"

namespace staging {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class StoredSamples : public Packs {
 protected:
  std::unique_ptr<StoredDataset> open(std::int64_t packs) const {
    put(0, packs);
    auto data = std::make_unique<StoredDataset>(source_, store(), list_);
    for (std::int64_t number = 0; number < packs; ++number) data->arrived(number);
    source_->reads = 0;
    return data;
  }
};

TEST_F(StoredSamples, AreThoseOfTheSource) {
  const auto data = open(kPacks);
  EXPECT_EQ(data->size(), kSamples);
  EXPECT_EQ(data->class_names(), source_->class_names());
  for (std::int64_t i = 0; i < kSamples; ++i) {
    EXPECT_EQ(data->bytes(i), 20);
    EXPECT_EQ(data->label(i), source_->label(i));
    EXPECT_EQ(data->name(i), source_->name(i));
    source_->reads = 0;
    const auto copied = content(*data, i);
    EXPECT_EQ(source_->reads, 0);
    EXPECT_EQ(copied, content(*source_, i));
  }
  EXPECT_TRUE(data->take_remarks().empty());
  for (const std::int64_t index : {std::int64_t{-1}, kSamples}) {
    EXPECT_THROW(content(*data, index), base::Error);
    EXPECT_THROW(data->bytes(index), base::Error);
  }
}

TEST_F(StoredSamples, AreReadFromTheSourceUntilTheirPackArrives) {
  const auto data = open(3);
  EXPECT_EQ(content(*data, 20), content(*source_, 20));
  EXPECT_EQ(source_->reads, 2);
  put(4, 5);
  data->arrived(4);
  source_->reads = 0;
  const auto copied = content(*data, 20);
  EXPECT_EQ(source_->reads, 0);
  EXPECT_EQ(copied, content(*source_, 20));
}

TEST_F(StoredSamples, AreCountedByWhereTheyWere) {
  const auto data = open(3);
  EXPECT_EQ(data->take_levels(), LevelCounts());
  for (std::int64_t i = 0; i < 20; ++i) content(*data, i);  // 15 of them are in the copy
  content(*data, 0);
  EXPECT_EQ(data->take_levels(), (LevelCounts{16, 16 * 20, 5, 5 * 20, 0}));
  EXPECT_EQ(data->take_levels(), LevelCounts());
  put(3, 4);
  data->arrived(3);
  content(*data, 17);
  damage(store().path(0), 45);
  content(*data, 2);
  content(*data, 2);
  EXPECT_EQ(data->take_levels(), (LevelCounts{2, 40, 1, 20, 1}));
}

TEST_F(StoredSamples, AreCountedAsTheSourcesWhereTheCopyCannotBeRepaired) {
  const auto data = open(kPacks);
  fs::remove(store().path(3));
  fs::create_directory(store().path(3));
  content(*data, 17);
  content(*data, 18);
  EXPECT_EQ(data->take_levels(), (LevelCounts{0, 0, 2, 40, 0}));
  source_->at_read = [](std::int64_t) { throw base::DataError("file 17: read failed"); };
  EXPECT_THROW(content(*data, 17), base::DataError);
  EXPECT_EQ(data->take_levels(), LevelCounts()) << "nothing was read";
}

TEST_F(StoredSamples, AreCountedFromManyThreads) {
  const auto data = open(kPacks);
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int time = 0; time < 100; ++time) {
        for (std::int64_t index = 0; index < kSamples; ++index) content(*data, index);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(data->take_levels(), (LevelCounts{400 * kSamples, 400 * kSamples * 20, 0, 0, 0}));
}

TEST_F(StoredSamples, MayArriveWhileOthersRead) {
  const auto data = open(0);
  put(0, kPacks);
  std::vector<std::vector<std::byte>> expected;
  for (std::int64_t i = 0; i < kSamples; ++i) expected.push_back(content(*source_, i));
  std::atomic<bool> is_done{false};
  std::thread reader([&] {
    // The source counts its reads without a lock, and only this thread reads.
    do {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(content(*data, static_cast<std::int64_t>(i)), expected[i]);
      }
    } while (!is_done);
  });
  for (std::int64_t number = 0; number < kPacks; ++number) data->arrived(number);
  is_done = true;
  reader.join();
}

TEST_F(StoredSamples, ComeFromTheCopyOnceAnExpectedPackIsThere) {
  const auto data = open(0);
  data->expect(0);
  data->expect(1);
  for (int i = 0; i < 2; ++i) content(*data, 0);
  EXPECT_EQ(source_->reads, 2);
  put(0, 1);
  source_->reads = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r) {
    readers.emplace_back([&] { content(*data, 0); });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(source_->reads, 0);
  content(*data, 5);  // of the pack that is still expected
  EXPECT_EQ(source_->reads, 1);
  // What comes under the pack's name is another one.
  put(2, 3);
  fs::copy_file(store().path(2), store().path(1));
  EXPECT_EQ(content(*data, 5), content(*source_, 5));
  EXPECT_THAT(data->take_remarks(),
              ElementsAre(AllOf(HasSubstr(store().path(1)),
                                HasSubstr("its samples are read from the source"))));
}

TEST_F(StoredSamples, AreRepairedAndSaySo) {
  const auto data = open(kPacks);
  damage(store().path(3), 45);
  const auto read = content(*data, 17);
  EXPECT_EQ(source_->reads, 1);
  EXPECT_EQ(read, content(*source_, 17));
  EXPECT_THAT(data->take_remarks(),
              ElementsAre(store().path(3) + ": offset 40: 20 bytes of sample 17 differ from what "
                                            "was staged (XXH3); repaired from file 17"));
  EXPECT_EQ(store().find_damage(3), "");
  source_->reads = 0;
  content(*data, 17);
  EXPECT_EQ(source_->reads, 0);
  EXPECT_TRUE(data->take_remarks().empty());
}

TEST_F(StoredSamples, AreRepairedWhereThePackIsCut) {
  const auto data = open(kPacks);
  fs::resize_file(store().path(3), 45);
  EXPECT_EQ(content(*data, 18), content(*source_, 18));
  EXPECT_THAT(data->take_remarks(),
              ElementsAre(AllOf(HasSubstr("pack-00000003"), HasSubstr("; repaired from file 18"))));
  source_->reads = 0;
  content(*data, 18);
  EXPECT_EQ(source_->reads, 0);
  EXPECT_FALSE(store().have()[3]);  // a later run copies the pack anew
}

TEST_F(StoredSamples, FailWhereTheSourceDiffersToo) {
  const auto data = open(kPacks);
  damage(store().path(3), 45);
  source_->content = 1;
  EXPECT_EQ(base::thrown_message<base::DataError>([&] { content(*data, 17); }),
            store().path(3) +
                ": offset 40: 20 bytes of sample 17 differ from what was staged "
                "(XXH3); and file 17 differs from it as well");
  source_->at_read = [](std::int64_t) { throw base::DataError("file 17: read failed"); };
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { content(*data, 17); }),
              HasSubstr("(XXH3); and its source: file 17: read failed"));
}

TEST_F(StoredSamples, GoOnFromTheSourceWhereTheCopyCannotBeRepaired) {
  const auto data = open(kPacks);
  fs::remove(store().path(3));
  fs::create_directory(store().path(3));
  EXPECT_EQ(content(*data, 17), content(*source_, 17));
  EXPECT_EQ(content(*data, 18), content(*source_, 18));
  EXPECT_THAT(data->take_remarks(),
              ElementsAre(AllOf(HasSubstr("pack-00000003: expected a regular file"),
                                HasSubstr("; read from file 17 instead, like all of its pack from "
                                          "now on: "),
                                HasSubstr("cannot be opened for writing: Is a directory"))));
}

TEST_F(StoredSamples, ArriveFromTheirOwnPackOnly) {
  const auto data = open(0);
  EXPECT_THROW(data->arrived(0), base::DataError);
  put(0, 2);
  fs::rename(store().path(1), store().path(2));
  EXPECT_THROW(data->arrived(2), base::DataError);
  EXPECT_EQ(content(*data, 10), content(*source_, 10));
  // A pack of the same name and set, but with samples that the list has elsewhere.
  const PackList other = packs_of(*source_, 40);
  std::vector<std::byte> image(static_cast<std::size_t>(image_bytes(other, 3)));
  read_pack(*source_, other, store().name(3), image);
  store().put(3, image, Durability::kCached);
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { data->arrived(3); }),
              HasSubstr("expected 5 samples from 15 on, found 2 from 6 on"));
}

}  // namespace
}  // namespace staging
