// Tests of the tar reader: formats, long names, large sizes, damage.
#include "staging/dataset/tar.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/encode.h"

namespace dataset {
namespace {

using testing::HasSubstr;

std::span<const std::byte> view_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void put(std::string& archive, std::size_t offset, const std::string& text) {
  archive.replace(offset, text.size(), text);
}

/// Writes the checksum of the header at `offset`.
void seal(std::string& archive, std::size_t offset) {
  put(archive, offset + 148, "        ");
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(archive[offset + i]);
  put(archive, offset + 148, fmt::format("{:06o}", sum) + std::string(1, '\0') + " ");
}

/// A POSIX header block followed by the padded data.
std::string member(const std::string& name, const std::string& data, char type = '0') {
  std::string block(512, '\0');
  put(block, 0, name.substr(0, 100));
  put(block, 124, fmt::format("{:011o}", data.size()));
  block[156] = type;
  put(block, 257,
      std::string("ustar\0"
                  "00",
                  8));
  seal(block, 0);
  return block + data + std::string((512 - data.size() % 512) % 512, '\0');
}

const std::string kEnd(1024, '\0');

class Tar : public testing::Test {
 protected:
  std::vector<TarMember> members(const std::string& archive) {
    const File file(folder_.write("a.tar", archive));
    TarWalker walker(file, "a.tar", 0, file.size());
    std::vector<TarMember> found;
    for (TarMember member; walker.next(member);) found.push_back(member);
    return found;
  }
  std::string message(const std::string& archive) {
    return base::thrown_message<base::DataError>([&] { members(archive); });
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(Tar, FindsMembersWithOffsetsAndSizes) {
  const auto found = members(member("./b/", "", '5') + member("./b/x.jpg", "hello") +
                             member("b/y.jpg", std::string(513, 'y')) + kEnd);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].kind, TarMember::Kind::kFolder);
  EXPECT_EQ(found[0].name, "b");
  EXPECT_EQ(found[1].name, "b/x.jpg");
  EXPECT_EQ(found[1].header_offset, 512);
  EXPECT_EQ(found[1].data_offset, 1024);
  EXPECT_EQ(found[1].size, 5);
  EXPECT_EQ(found[2].data_offset, 2048);
  EXPECT_EQ(found[2].size, 513);
}

TEST_F(Tar, NamesMembersFromTheTopOfTheArchive) {
  for (const char* name : {"/data/a", "//data/a", "./data/a", "././/data/a", "/./data/a/"}) {
    const auto found = members(member(name, "x") + kEnd);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, "data/a") << name;
  }
  for (const char* name : {"/", "./", "."}) {
    EXPECT_EQ(members(member(name, "", '5') + kEnd).at(0).name, "") << name;
  }
}

TEST_F(Tar, JoinsThePrefixOfUstarNames) {
  std::string archive = member("x.jpg", "a");
  put(archive, 345, "deep/folder");
  seal(archive, 0);
  EXPECT_EQ(members(archive + kEnd).at(0).name, "deep/folder/x.jpg");
}

TEST_F(Tar, TakesNoPrefixFromGnuHeaders) {
  std::string archive = member("x.jpg", "a");
  put(archive, 257, "ustar  ");
  put(archive, 345, "14000000000");  // GNU stores times there
  seal(archive, 0);
  EXPECT_EQ(members(archive + kEnd).at(0).name, "x.jpg");
}

TEST_F(Tar, ReadsLongNamesOfGnuAndPax) {
  const std::string name = "class/" + std::string(300, 'n') + ".jpg";
  const auto gnu = members(member("././@LongLink", name + '\0', 'L') + member("cut", "12") + kEnd);
  ASSERT_EQ(gnu.size(), 1u);
  EXPECT_EQ(gnu[0].name, name);
  EXPECT_EQ(gnu[0].header_offset, 0);
  EXPECT_EQ(gnu[0].data_offset, 1536);

  const std::string record = " path=" + name + "\n";
  const std::string pax = std::to_string(record.size() + 3) + record;
  EXPECT_EQ(members(member("PaxHeader", pax, 'x') + member("cut", "12") + kEnd).at(0).name, name);
}

TEST_F(Tar, LetsTheSizeOfPaxWin) {
  std::string archive = member("PaxHeader", "10 size=3\n", 'x') + member("a.jpg", "abc");
  put(archive, 1024 + 124, "00000000000");
  seal(archive, 1024);
  EXPECT_EQ(members(archive + kEnd).at(0).size, 3);
}

TEST_F(Tar, ReadsSizesInBase256) {
  std::string archive = member("a.jpg", "abc");
  put(archive, 124, std::string("\x80\0\0\0\0\0\0\0\0\0\0\3", 12));
  seal(archive, 0);
  EXPECT_EQ(members(archive + kEnd).at(0).size, 3);
}

TEST_F(Tar, ReadsWhatTheWriterWrites) {
  std::ostringstream out;
  TarWriter writer(out);
  const std::string long_name = "class/" + std::string(200, 'x') + ".jpg";
  const std::string data(70000, 'd');
  writer.add_folder("class");
  writer.add_file("class/a.jpg", view_of(data));
  writer.add_file(long_name, view_of("bc"));
  writer.finish();
  const auto found = members(out.str());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].size, 70000);
  EXPECT_EQ(found[2].name, long_name);
  EXPECT_EQ(out.str().substr(static_cast<std::size_t>(found[2].data_offset), 2), "bc");
}

TEST_F(Tar, SkipsGlobalHeadersAndLongLinkTargets) {
  const auto found = members(member("g", "18 comment=hello.\n", 'g') +
                             member("././@LongLink", "target", 'K') + member("a.jpg", "1") + kEnd);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "a.jpg");
}

TEST_F(Tar, ReadsArchivesThatWereAppended) {
  const std::string zeros(9 * 512, '\0');
  const auto found = members(member("a.jpg", "1") + kEnd + zeros + member("b.jpg", "22") +
                             std::string(512, '\0') + member("c.jpg", "333") + kEnd + zeros);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].name, "b.jpg");
  EXPECT_EQ(found[1].header_offset, 1024 + 1024 + 9 * 512);
  EXPECT_EQ(found[2].name, "c.jpg");
}

TEST_F(Tar, SkipsOtherBytesBehindTheEndMarkOnlyWithinItsRecord) {
  const std::string begun = member("a.jpg", "1") + kEnd;
  std::string filled = begun + std::string(10240 - begun.size(), 'x');
  EXPECT_EQ(members(filled).size(), 1u);
  EXPECT_EQ(members(filled + member("b.jpg", "2") + kEnd).size(), 2u);
  EXPECT_EQ(members(begun + std::string(20000, '\0') + "cut").size(), 1u);
  EXPECT_THAT(message(filled + std::string(512, 'x')),
              HasSubstr("a.tar: offset 10240: expected nothing but another archive after the end "
                        "mark at 1024, found other bytes"));
}

TEST_F(Tar, GivesTheTargetsOfHardLinks) {
  const auto link = [](const std::string& target) {
    std::string block = member("b.jpg", "", '1');
    put(block, 157, target);
    seal(block, 0);
    return block;
  };
  const auto found = members(member("./a.jpg", "1") + link("./a.jpg") +
                             member("././@LongLink", std::string(150, 'n') + '\0', 'K') +
                             link("cut") + member("PaxHeader", "16 linkpath=./q\n", 'x') +
                             link("cut") + member("s.jpg", "", '2') + kEnd);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].target, "");
  EXPECT_EQ(found[1].kind, TarMember::Kind::kHardLink);
  EXPECT_EQ(found[1].target, "a.jpg");
  EXPECT_EQ(found[2].target, std::string(150, 'n'));
  EXPECT_EQ(found[3].target, "q");
  EXPECT_EQ(found[4].kind, TarMember::Kind::kOther);
  EXPECT_EQ(found[4].target, "");
}

TEST_F(Tar, TakesNoSparseFileForAPlainOne) {
  const auto found = members(member("PaxHeader", "22 GNU.sparse.major=1\n", 'x') +
                             member("a.jpg", "1") + member("b.jpg", "2") + kEnd);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, TarMember::Kind::kOther);
  EXPECT_EQ(found[1].kind, TarMember::Kind::kFile);
}

TEST_F(Tar, NamesTheOffsetOfADamagedHeader) {
  std::string archive = member("a.jpg", "1") + member("b.jpg", "2") + kEnd;
  archive[1024 + 7] = 'x';
  EXPECT_THAT(message(archive), HasSubstr("a.tar: offset 1024: expected a tar header, found a "
                                          "block with a wrong checksum"));
}

TEST_F(Tar, NamesWhatACutArchiveLost) {
  const std::string archive = member("a.jpg", "1") + member("b.jpg", std::string(3000, 'b')) + kEnd;
  EXPECT_THAT(
      message(archive.substr(0, 1536 + 700)),
      HasSubstr("offset 1024: the archive is cut inside 'b.jpg': 3000 bytes expected, 700"));
  // Every truncation before the end mark is found.
  for (std::size_t size = 0; size < archive.size() - 1024 + 512; size += 100) {
    EXPECT_THAT(message(archive.substr(0, size)), HasSubstr("cut")) << size;
  }
}

TEST_F(Tar, RefusesDamagedNumbers) {
  std::string octal = member("a.jpg", "1");
  put(octal, 124, "0000000z001");
  seal(octal, 0);
  EXPECT_THAT(message(octal + kEnd), HasSubstr("damaged size"));

  std::string huge = member("a.jpg", "1");
  put(huge, 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  seal(huge, 0);
  EXPECT_THAT(message(huge + kEnd), HasSubstr("damaged size"));

  std::string beyond = member("a.jpg", "1");
  put(beyond, 124, std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12));
  seal(beyond, 0);
  EXPECT_THAT(message(beyond + kEnd), HasSubstr("cut inside"));
}

TEST_F(Tar, RefusesDamagedPaxHeaders) {
  for (const std::string& pax :
       {std::string("999 path=x\n"), std::string("abc"), std::string("11 path=xyz"),
        std::string("8 pathx\n"), std::string("11 size=-3\n"), std::string("3 \n")}) {
    EXPECT_THAT(message(member("PaxHeader", pax, 'x') + member("a", "1") + kEnd), HasSubstr("pax"))
        << pax;
  }
}

TEST_F(Tar, RefusesAnExtensionWithoutItsMember) {
  EXPECT_THAT(message(member("././@LongLink", "name", 'L') + kEnd),
              HasSubstr("between an extension header and its member"));
}

TEST_F(Tar, ThrowsOrEndsForAnyDamagedByte) {
  const std::string archive = member("PaxHeader", "14 path=b.jpg\n", 'x') + member("a", "1") + kEnd;
  int refused = 0;
  for (std::size_t i = 0; i < archive.size(); i += 11) {
    std::string damaged = archive;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    try {
      members(damaged);
    } catch (const base::DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1024 / 11);  // at least every tested byte of the two headers
}

}  // namespace
}  // namespace dataset
