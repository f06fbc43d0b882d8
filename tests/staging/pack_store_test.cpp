// Tests of the folder of packs: what is written, found again, and left of writers that died.
#include "staging/pack_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/base/thrown_message.h"
#include "staging/pack_fixture.h"

namespace staging {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class StoredPacks : public Packs {
 protected:
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder())) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// Runs `work` in a process that then dies at once.
  template <class Work>
  static void die_after(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
};

TEST_F(StoredPacks, AreFoundAgainByName) {
  put(0, 2);
  EXPECT_THAT(names(), ElementsAre("begun.json", "pack-00000000", "pack-00000001"));
  EXPECT_THAT(store().have(), ElementsAre(true, true, false, false, false, false, false, false));
  EXPECT_EQ(fs::status(store().path(0)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(StoredPacks, GoOnWithThoseThatAreThere) {
  put(0, 3);
  const PackStore later = PackStore::of(folder());
  EXPECT_EQ(later.record().identity, record().identity);
  source_->reads = 0;
  const std::vector<bool> have = later.have();
  for (std::int64_t number = 0; number < kPacks; ++number) {
    if (!have[static_cast<std::size_t>(number)]) put(number, number + 1);
  }
  EXPECT_EQ(source_->reads, 5 * kSamplesOfPack);
  EXPECT_THAT(later.have(), testing::Each(true));
  for (std::int64_t number = 0; number < kPacks; ++number) {
    EXPECT_EQ(later.find_damage(number), "");
  }
}

TEST_F(StoredPacks, AreNotThereIfCutOrOfAnotherSet) {
  put(0, kPacks);
  fs::resize_file(store().path(1), 50);
  fs::resize_file(store().path(2), fs::file_size(store().path(2)) - 1);
  fs::copy_file(store().path(4), store().path(3), fs::copy_options::overwrite_existing);
  damage(store().path(5), static_cast<std::int64_t>(fs::file_size(store().path(5))) - 3);
  fs::remove(store().path(6));
  fs::create_directory(store().path(6));
  damage(store().path(7), 0);  // a sample: found when it is read
  EXPECT_THAT(store().have(), ElementsAre(true, false, false, false, true, false, false, true));
  EXPECT_THAT(store().find_damage(7), HasSubstr("pack-00000007: offset 0: 20 bytes of sample 35"));
  EXPECT_THAT(store().find_damage(1), HasSubstr("pack-00000001: pack 1: expected at least 64"));
  source_->content = 1;
  source_->mtime_ns = 7;
  list_ = std::make_shared<const PackList>(packs_of(*source_, 20 * kSamplesOfPack));
  EXPECT_THAT(store().have(), testing::Each(false));
}

TEST_F(StoredPacks, ReplaceWhatIsDamaged) {
  put(0, 2);
  fs::resize_file(store().path(1), 50);
  put(0, 2);
  EXPECT_TRUE(store().have()[1]);
  EXPECT_EQ(store().find_damage(0), "");
  EXPECT_THAT(names(), ElementsAre("begun.json", "pack-00000000", "pack-00000001"));
}

TEST_F(StoredPacks, MayBeWrittenByManyAtOnce) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&, bytes = image(2), stored = store()] {
      for (int time = 0; time < 10; ++time) {
        stored.put(2, bytes, Durability::kOnDevice);
        stored.remove_dead_parts();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(store().find_damage(2), "");
  EXPECT_THAT(names(), ElementsAre("begun.json", "pack-00000002"));
}

TEST_F(StoredPacks, IgnoreAndRemovePartsOfDeadWriters) {
  const std::string part = store().path(2) + ".part.node7.12.0";
  die_after([&] {
    const int file = ::open(part.c_str(), O_CREAT | O_WRONLY, 0600);
    ::flock(file, LOCK_EX);
    [[maybe_unused]] const ssize_t written = ::write(file, "half", 4);
  });
  EXPECT_TRUE(fs::exists(part));
  EXPECT_THAT(store().have(), testing::Each(false));
  write(folder() + "/thesis.part.txt", {});
  write(folder() + "/pack-2.part.txt", {});  // no name of a pack
  store().remove_dead_parts();
  EXPECT_THAT(names(), ElementsAre("begun.json", "pack-2.part.txt", "thesis.part.txt"));
}

TEST_F(StoredPacks, LeavePartsOfLivingWriters) {
  const std::string part = store().path(2) + ".part.node7.12.0";
  const base::Descriptor writer(::open(part.c_str(), O_CREAT | O_WRONLY, 0600));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  store().remove_dead_parts();
  EXPECT_TRUE(fs::exists(part));
}

TEST_F(StoredPacks, FollowNoLinksWhenTheyAreWritten) {
  const std::string precious = folder_.path().string() + "/precious";
  write(precious, {std::byte{1}});
  const std::string part =
      fmt::format("{}.part.{}.{}.0", store().path(0), base::host_name(), ::getpid());
  fs::create_symlink(precious, part);
  fs::create_symlink(precious, store().path(0));
  put(0, 1);
  EXPECT_EQ(fs::file_size(precious), 1U);
  EXPECT_FALSE(fs::is_symlink(store().path(0)));
  fs::create_symlink(precious, store().path(1));
  EXPECT_THROW(store().repair(1, {0, 20, 0}, content(*source_, 5)), base::SystemError);
  EXPECT_EQ(fs::file_size(precious), 1U);
}

TEST_F(StoredPacks, AreListedLast) {
  put(0, 3);
  EXPECT_THROW(read_pack_records(folder(), record()), base::DataError);
  store().finish();
  const auto packs = read_pack_records(folder(), record());
  ASSERT_EQ(packs.size(), 3U);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    EXPECT_EQ(packs[i].number, static_cast<std::int64_t>(i));
    EXPECT_EQ(packs[i].bytes,
              static_cast<std::int64_t>(fs::file_size(store().path(packs[i].number))));
    EXPECT_NE(packs[i].hash, 0U);
  }
  EXPECT_NE(packs[0].hash, packs[1].hash);
  put(5, 6);  // of a later run
  store().finish();
  EXPECT_EQ(read_pack_records(folder(), record()).size(), 4U);
}

TEST_F(StoredPacks, NameTheNodeWhoseDiskIsFull) {
  const std::string disk = folder_.path().string() + "/disk";
  fs::create_directory(disk);
  if (::mount("trainmark-test", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "tmpfs cannot be mounted";
  }
  const PackStore small(disk, record());
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] {
                small.put(0, std::vector<std::byte>(std::size_t{1} << 20), Durability::kCached);
              }),
              AllOf(testing::StartsWith(base::host_name() + ": " + disk + "/pack-00000000.part."),
                    HasSubstr("offset 0: write failed: No space left on device")));
  EXPECT_TRUE(fs::is_empty(disk));
  ::umount(disk.c_str());
}

TEST(PackNames, AreThoseOfPacksAndTheirParts) {
  EXPECT_EQ(pack_file_name(17), "pack-00000017");
  EXPECT_EQ(number_of_pack_file("pack-00000017"), 17);
  EXPECT_EQ(number_of_pack_file("pack-123456789"), 123456789);
  EXPECT_EQ(number_of_pack_file("pack-00000017.part.node.1.0"), 17);
  for (const char* name :
       {"pack-17", "pack-", "pack-0000001x", "pack--0000017", "pack-00000017.txt", "pack-000000017",
        "part-0.bin", "", "pack-99999999999999999999"}) {
    EXPECT_EQ(number_of_pack_file(name), std::nullopt) << name;
  }
}

class SetRecords : public Packs {
 protected:
  std::string refused(const std::string& begun) const {
    std::ofstream(folder() + "/begun.json") << begun;
    return base::thrown_message<base::DataError>([&] { read_record(folder()); });
  }
  std::string refused_packs(const std::string& packs) const {
    std::ofstream(folder() + "/manifest.json")
        << R"({"format": "trainmark-staged-2", "identity": ")" << record().identity
        << R"(", "packs": [)" << packs << "]}";
    return base::thrown_message<base::DataError>([&] { read_pack_records(folder(), record()); });
  }
};

TEST_F(SetRecords, AreReadAsTheyWereWritten) {
  SetRecord kept = record();
  kept.is_kept = true;
  write_record(folder(), kept);
  const SetRecord found = read_record(folder());
  EXPECT_EQ(found.identity, kept.identity);
  EXPECT_EQ(found.source, "memory");
  EXPECT_EQ(found.packs, kPacks);
  EXPECT_EQ(found.samples, kSamples);
  EXPECT_EQ(found.bytes, 20 * kSamples);
  EXPECT_EQ(found.made_by, "a test");
  EXPECT_TRUE(found.is_kept);
}

TEST_F(SetRecords, AreRefusedInTheirOwnWords) {
  const std::string begin = folder() + "/begun.json: not of a staged set: ";
  EXPECT_THAT(refused("{}"),
              testing::StartsWith(begin + "its JSON: /format: is required (of this file)"));
  EXPECT_EQ(refused(R"({"format": "trainmark-staged-1"})"),
            begin + "/format: expected trainmark-staged-2, found trainmark-staged-1");
  const std::string format = R"({"format": "trainmark-staged-2", "identity": )";
  EXPECT_THAT(refused(format + R"("../../../../../../../../x"})"), HasSubstr("hexadecimal"));
  EXPECT_THAT(refused(format + R"("0123456789abcdef", "source": "", "packs": -1})"),
              HasSubstr("/packs: expected 0 to 1048576, found -1"));
  EXPECT_THAT(refused(format + R"("0123456789abcdef", "source": "", "packs": 1000000000000})"),
              HasSubstr("/packs: expected 0 to 1048576"));
  std::ofstream(folder() + "/begun.json") << "{";
  fs::resize_file(folder() + "/begun.json", std::uintmax_t{1} << 32);  // a sparse file
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { read_record(folder()); }),
              HasSubstr("found 4294967296"));
}

TEST_F(SetRecords, ListNoPackTwiceNorOneThatTheSetLacks) {
  const std::string hash = R"("bytes": 5, "xxh3": "0123456789abcdef")";
  EXPECT_THAT(refused_packs(R"({"pack": 8, )" + hash + "}"), HasSubstr("numbers below 8"));
  EXPECT_THAT(refused_packs(R"({"pack": 3, )" + hash + R"(}, {"pack": 3, )" + hash + "}"),
              HasSubstr("found pack 3 where 4 or more was due"));
  EXPECT_THAT(refused_packs(R"({"pack": 3, "bytes": 5, "xxh3": "xyz"})"),
              HasSubstr("/xxh3: expected 16 hexadecimal digits"));
  write_pack_records(folder(), record(), {});
  SetRecord other = record();
  other.identity.front() = other.identity.front() == '0' ? '1' : '0';
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { read_pack_records(folder(), other); }),
              HasSubstr("/identity: expected " + other.identity));
}

}  // namespace
}  // namespace staging
