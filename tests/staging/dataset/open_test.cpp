// Tests of the dataset readers: every layout, and every kind of damage.
#include "staging/dataset/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/list_samples.h"
#include "tests/staging/dataset/open_fixture.h"

namespace dataset {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
namespace fs = std::filesystem;

TEST_F(OpenDataset, ReadsAFolderOfClassFolders) {
  const std::string path = folder(kFiles);
  expect_the_files(*open_dataset(path));
  EXPECT_EQ(list_samples(path).ignored_files, 2);
}

TEST_F(OpenDataset, TellsOfEveryImageThatItLists) {
  base::Activity activity;
  OpenOptions options;
  options.activity = &activity;
  const auto before = activity.look().count;
  list_samples(folder(kFiles), options);
  EXPECT_EQ(activity.look().count - before, kContents.size());
}

TEST_F(OpenDataset, ReadsATarOfClassFolders) {
  const std::string path = tar(tar_of(kFiles, {".", "./a", "./b", "./b-c"}));
  expect_the_files(*open_dataset(path));
  EXPECT_EQ(list_samples(path).ignored_files, 2);
  EXPECT_EQ(open_dataset(path)->name(4), path + ": b-c/1.png");
}

TEST_F(OpenDataset, DropsTheFolderThatAnArchiveWasMadeFrom) {
  Files inside;
  for (const auto& [name, data] : kFiles) inside.emplace_back("./train/" + name, data);
  expect_the_files(*open_dataset(tar(tar_of(inside, {"./train", "./train/a"}))));
}

TEST_F(OpenDataset, ReadsATarOfClassTars) {
  const std::string first = tar_of({{"n02_7.JPEG", "two-seven"}, {"n02_10.JPEG", "two-ten"}});
  const std::string second = tar_of({{"n01_1.JPEG", "one-one"}, {"./n01_0.JPEG", "one-zero"}});
  const auto data = open_dataset(tar(tar_of({{"n02.tar", first}, {"n01.tar", second}})));
  EXPECT_EQ(contents(*data),
            (std::vector<std::string>{"one-zero", "one-one", "two-ten", "two-seven"}));
  EXPECT_EQ(labels(*data), (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(data->class_names(), (std::vector<std::string>{"n01", "n02"}));
  EXPECT_THAT(data->name(2), EndsWith("data.tar: n02/n02_10.JPEG"));
}

TEST_F(OpenDataset, ReadsFlatFoldersAndTarsWithTheirLabels) {
  const Files flat = {{"val_3.JPEG", "three"}, {"val_1.JPEG", "one"}, {"val_2.JPEG", "two"}};
  const OpenOptions options{folder_.write("labels.txt", "2\n1\n3\n"), 1, {"x", "y", "z"}};
  for (const std::string& path :
       {folder(flat, "flat"), tar(tar_of(flat)),
        folder_.write("nested.tar", tar_of({{"val/val_3.JPEG", "three"},
                                            {"val/val_1.JPEG", "one"},
                                            {"val/val_2.JPEG", "two"}}))}) {
    const auto data = open_dataset(path, options);
    EXPECT_EQ(contents(*data), (std::vector<std::string>{"one", "two", "three"})) << path;
    EXPECT_EQ(labels(*data), (std::vector<std::int32_t>{1, 0, 2}));
    EXPECT_THAT(data->name(0), HasSubstr("val_1.JPEG"));
  }
}

TEST_F(OpenDataset, NumbersClassesAsTheTrainingSetDoes) {
  const Files two = {{"c/1.jpg", "c"}, {"a/1.jpg", "a"}};
  OpenOptions options;
  options.class_names = {"a", "b", "c"};
  EXPECT_EQ(labels(*open_dataset(folder(two), options)), (std::vector<std::int32_t>{0, 2}));
  options.class_names = {"a", "b"};
  EXPECT_THAT(message(folder(two), options), HasSubstr("class 'c' is not one of the 2 known"));
}

TEST_F(OpenDataset, IsTheSameOnARankThatWasTold) {
  for (const std::string& path : {folder(kFiles), tar(tar_of(kFiles))}) {
    const Listing told = listing_from_bytes(to_bytes(list_samples(path)));
    expect_the_files(*open_dataset(told));
  }
  EXPECT_THROW(listing_from_bytes(to_bytes(list_samples(folder(kFiles))).substr(0, 50)),
               base::Error);
}

TEST_F(OpenDataset, ReadsManyInOneCallAndFewReads) {
  std::vector<std::pair<std::int64_t, std::string>> got(3);
  std::size_t samples = 0;
  const auto data = open_dataset(tar(tar_of(kFiles)));
  const std::vector<std::int64_t> wanted = {4, 0, 3};
  const std::int64_t reads =
      data->read_many(wanted, [&](std::int64_t index, const Dataset::Stamp& found) {
        auto& [its_index, content] = got.at(samples++);
        its_index = index;
        content.resize(static_cast<std::size_t>(found.bytes));
        return std::as_writable_bytes(std::span(content));
      });
  // In the order of the archive.
  EXPECT_EQ(got,
            (std::vector<std::pair<std::int64_t, std::string>>{{3, "b2"}, {0, "a10"}, {4, "bc1"}}));
  EXPECT_EQ(reads, 1);
}

TEST_F(OpenDataset, MayBeReadByManyThreads) {
  Files files;
  for (int i = 0; i < 200; ++i) {
    files.emplace_back("c/" + std::to_string(1000 + i), std::string(100 + i, char('a' + i % 26)));
    files.back().first += ".jpg";
  }
  for (const std::string& path : {folder(files), tar(tar_of(files))}) {
    const auto data = open_dataset(path);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::int64_t i = 0; i < data->size(); ++i) {
          if (content(*data, i) != files[static_cast<std::size_t>(i)].second) ++wrong;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(OpenDataset, SaysWhatIsMissing) {
  EXPECT_THAT(message("no/such/place"), HasSubstr("no/such/place: expected a folder or tar"));
  EXPECT_THAT(message(folder({{"a/x.txt", ""}})), HasSubstr("no images"));
  EXPECT_THAT(
      message(folder({{"x.jpg", "1"}}, "flat")),
      HasSubstr("'x.jpg': expected images in class folders (<class>/<image>), or a labels"));
  EXPECT_THAT(message(tar(tar_of({}))), HasSubstr("no images"));
}

TEST_F(OpenDataset, NamesAnEmptyClass) {
  const std::string path = folder({{"a/1.jpg", "1"}});
  fs::create_directory(path + "/empty");
  EXPECT_THAT(message(path), HasSubstr("class folder 'empty' has no images"));
  EXPECT_THAT(message(tar(tar_of({{"a/1.jpg", "1"}}, {"empty"}))),
              HasSubstr("class folder 'empty' has no images"));
  EXPECT_THAT(message(tar(tar_of({{"n1.tar", tar_of({{"x.jpg", "1"}})}, {"n2.tar", tar_of({})}}))),
              HasSubstr("class folder 'n2' has no images"));
}

TEST_F(OpenDataset, RefusesImagesAtAnotherDepth) {
  EXPECT_THAT(message(folder({{"train/a/1.jpg", "1"}, {"val/a/1.jpg", "1"}})),
              HasSubstr("a folder inside a class folder"));
  EXPECT_THAT(message(tar(tar_of({{"train/a/1.jpg", "1"}, {"val/a/1.jpg", "1"}}))),
              HasSubstr("'train/a/1.jpg': expected images in class folders"));
}

TEST_F(OpenDataset, RefusesAnImageThatIsThereTwice) {
  EXPECT_THAT(message(tar(tar_of({{"a/1.jpg", "1"}, {"./a/1.jpg", "2"}}))),
              HasSubstr("'a/1.jpg' is there twice"));
}

/// The archive with the header at `offset` changed to this type of link.
std::string with_link(std::string archive, std::size_t offset, char type,
                      const std::string& target) {
  archive[offset + 156] = type;
  archive.replace(offset + 157, target.size(), target);
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(archive[offset + i]);
  }
  std::ostringstream text;
  text << std::oct << sum;
  return archive.replace(offset + 148, 6, std::string(6 - text.str().size(), '0') + text.str());
}

TEST_F(OpenDataset, RefusesCompressedArchivesAndSymbolicLinks) {
  EXPECT_THAT(message(tar("\x1f\x8b\x08 and so on")),
              HasSubstr("expected a plain tar archive, found a gzip file"));
  EXPECT_THAT(message(tar(with_link(tar_of({{"a/1.jpg", ""}}), 0, '2', "2.jpg"))),
              AllOf(HasSubstr("'a/1.jpg' is a link or special file"), HasSubstr("--dereference")));
}

TEST_F(OpenDataset, GivesHardLinksTheDataOfTheirTargets) {
  const Files files = {{"./a/1.jpg", "one"}, {"./a/2.jpg", ""}, {"./b/3.jpg", ""}};
  std::string archive = with_link(tar_of(files), 1024, '1', "./a/1.jpg");
  archive = with_link(archive, 1536, '1', "./a/1.jpg");
  const auto data = open_dataset(tar(archive));
  EXPECT_EQ(contents(*data), (std::vector<std::string>{"one", "one", "one"}));
  EXPECT_EQ(labels(*data), (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(data->bytes(2), 3);
  std::vector<std::string> many(3);
  const std::vector<std::int64_t> indices = {0, 1, 2};
  data->read_many(indices, [&](std::int64_t index, const Dataset::Stamp& found) {
    std::string& content = many[static_cast<std::size_t>(index)];
    content.resize(static_cast<std::size_t>(found.bytes));
    return std::as_writable_bytes(std::span(content));
  });
  EXPECT_EQ(many, (std::vector<std::string>{"one", "one", "one"}));
}

TEST_F(OpenDataset, FindsTheTargetsOfHardLinksWithinTheirClassArchive) {
  // The target need not have the name of an image.
  const std::string inner = with_link(tar_of({{"blob", "data"}, {"1.jpg", ""}}), 1024, '1', "blob");
  const auto data = open_dataset(tar(tar_of({{"n1.tar", inner}})));
  EXPECT_EQ(contents(*data), (std::vector<std::string>{"data"}));
  EXPECT_EQ(data->class_names(), (std::vector<std::string>{"n1"}));
}

TEST_F(OpenDataset, NamesAHardLinkWhoseTargetIsMissing) {
  const std::string archive =
      with_link(tar_of({{"a/1.jpg", "one"}, {"a/2.jpg", ""}}), 1024, '1', "a/3.jpg");
  EXPECT_THAT(message(tar(archive)),
              HasSubstr("data.tar: offset 1024: 'a/2.jpg' is a hard link to 'a/3.jpg'; expected "
                        "this file in the same archive"));
}

TEST_F(OpenDataset, ReadsAllArchivesOfAConcatenation) {
  const std::string both = tar_of({{"a/1.jpg", "one"}, {"b/1.jpg", "two"}}) +
                           tar_of({{"a/2.jpg", "three"}, {"b/0.jpg", "four"}});
  const auto data = open_dataset(tar(both));
  EXPECT_EQ(contents(*data), (std::vector<std::string>{"one", "three", "four", "two"}));
  EXPECT_THAT(data->name(1), EndsWith("data.tar: a/2.jpg"));
}

TEST_F(OpenDataset, NamesTheInnerArchiveThatIsDamaged) {
  std::string inner = tar_of({{"x.jpg", "1"}});
  inner[3] = '!';
  EXPECT_THAT(message(tar(tar_of({{"n1.tar", inner}}))),
              HasSubstr("data.tar: n1.tar: offset 512: expected a tar header"));
}

TEST_F(OpenDataset, RefusesAnIndexOutsideTheDataset) {
  const auto data = open_dataset(folder(kFiles));
  std::vector<std::byte> bytes;
  EXPECT_THROW(data->read(5, bytes), base::Error);
  EXPECT_THROW(data->label(-1), base::Error);
}

TEST_F(OpenDataset, ReadsAPublishedArchive) {
  const std::string path = "../shared/data/cifar10/test.tar";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto data = open_dataset(path);
  EXPECT_EQ(data->size(), 4000);
  EXPECT_EQ(data->class_names().size(), 10u);
  EXPECT_THAT(data->name(0), EndsWith("test.tar: airplane/0000.jpg"));
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < data->size(); i += 97) {
    data->read(i, bytes);
    EXPECT_EQ(decode_image(bytes, data->name(i)).width, 32);
  }
}

TEST_F(OpenDataset, RefusesASparseFileOfAnySizeBeforeItIsRead) {
  const std::string path = folder(kFiles);
  const auto data = open_dataset(path);
  fs::resize_file(path + "/b/1.jpg", std::uintmax_t{1} << 40);
  const auto refused = [](const std::function<void()>& action) {
    EXPECT_THAT(base::thrown_message<base::DataError>(action),
                HasSubstr("b/1.jpg: expected a sample of at most 536870912 bytes, found "
                          "1099511627776"));
  };
  refused([&] { content(*data, 2); });
  refused([&] { data->stamp(2); });
  refused([&] { data->bytes(2); });
}

TEST_F(OpenDataset, GivesEachSampleAStampOfItsOwnWhateverTheFolderIsCalled) {
  const auto files = open_dataset(folder(kFiles));
  EXPECT_NE(files->stamp(0).name_hash, files->stamp(1).name_hash);
  EXPECT_EQ(files->stamp(0).name_hash, base::hash_name("a/10.JPEG"));
  const auto archive = open_dataset(tar(tar_of(kFiles)));
  EXPECT_NE(archive->stamp(0).name_hash, archive->stamp(1).name_hash);
}

TEST_F(OpenDataset, RemarksOnFilesInClassFoldersThatAreNoImages) {
  for (const std::string& place : {folder(kFiles), tar(tar_of(kFiles))}) {
    EXPECT_THAT(open_dataset(place)->take_remarks(),
                testing::ElementsAre(place + ": 1 file in class folders left out, as no .jpg, "
                                             ".jpeg or .png: 'b/notes.txt'"));
  }
}

TEST_F(OpenDataset, RefusesMembersOutsideOfTheArchive) {
  for (const char* const name : {"../b/1.jpg", "a/../../1.jpg", "a/.."}) {
    EXPECT_THAT(message(tar(tar_of({{"a/1.jpg", "a1"}, {name, "x"}}))),
                HasSubstr(std::string("'") + name + "' leads out of the archive"));
  }
  EXPECT_EQ(open_dataset(tar(tar_of({{"a/1..jpg", "a1"}, {"a..b/1.jpg", "b1"}})))->size(), 2);
}

}  // namespace
}  // namespace dataset
