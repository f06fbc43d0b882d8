// Tests of expanding compressed files: contents, bounds, and damage of every kind.
#include "staging/dataset/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/compressed.h"
#include "staging/dataset/expanded_bytes.h"
#include "staging/dataset/file.h"

namespace dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kRoomy = 1 << 20;

std::string refusal(const Bytes& file, std::int64_t most_bytes = kRoomy) {
  return base::thrown_message<base::DataError>([&] { expand(file, most_bytes, "a"); });
}

Bytes from(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes skippable(const std::string& text) {
  return joined({from({'\x57', '\x2a', '\x4d', '\x18', static_cast<char>(text.size()), 0, 0, 0}),
                 from(text)});
}

Bytes noisy(std::size_t size) {
  Bytes bytes(size);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24U & 0x3fU);
  }
  return bytes;
}

class Expand : public testing::TestWithParam<Compressor> {
 protected:
  static Bytes compressed(const Bytes& content) { return GetParam().compress(content); }
};
INSTANTIATE_TEST_SUITE_P(Of, Expand, testing::ValuesIn(compressors()),
                         [](const auto& one) { return one.param.ending.substr(1); });

TEST_P(Expand, GivesBackTheContent) {
  for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 300000u}) {
    const Bytes content = noisy(size), file = compressed(content);
    EXPECT_NE(compression_of(file), Compression::kNone);
    EXPECT_TRUE(expand(file, kRoomy, "a") == content) << size;
    EXPECT_TRUE(expand(file, static_cast<std::int64_t>(size), "a") == content)
        << "bound of the size " << size;
    EXPECT_TRUE(compressed(content) == file);
  }
}

TEST_P(Expand, TakesSeveralFramesAsOneContent) {
  const Bytes file = joined({compressed(from("ab")), compressed({}), compressed(from("cd"))});
  EXPECT_EQ(expand(file, 4, "a"), from("abcd"));
  EXPECT_THAT(refusal(file, 3), HasSubstr("the content is longer than the 3 bytes"));
  Bytes many;
  for (int i = 0; i < 1000; ++i) many = joined({many, compressed(noisy(100))});
  EXPECT_EQ(expand(many, 100'000, "a").size(), 100'000U);
}

TEST_P(Expand, EndsAtTheBoundHoweverMuchWouldCome) {
  const Bytes bomb = compressed(Bytes(50'000'000));
  EXPECT_LT(bomb.size(), 250'000U);
  EXPECT_THAT(refusal(bomb, 1000),
              AllOf(StartsWith("a: offset "),
                    HasSubstr("the content is longer than the 1000 bytes that it may have")));
  EXPECT_NE(refusal(compressed(Bytes(1001)), 1000), "");
  EXPECT_EQ(expand(compressed(Bytes(1000)), 1000, "a").size(), 1000U);
  EXPECT_NE(refusal(compressed(Bytes(1)), 0), "");
}

TEST_P(Expand, IsRefusedWhenCutAnywhere) {
  for (const std::size_t size : {500u, 200'000u}) {
    const Bytes file = compressed(noisy(size));
    const std::size_t step = size == 500 ? 1 : 1013;
    for (std::size_t left = 0; left < file.size(); left += step) {
      const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(left));
      const bool is_recognised = compression_of(part) != Compression::kNone;
      EXPECT_THAT(refusal(part),
                  AllOf(StartsWith("a: "),
                        HasSubstr(is_recognised ? "the file is cut" : "expected a file of")));
    }
  }
}

TEST_P(Expand, NeverGivesOtherContentForDamagedBytes) {
  const Bytes content = noisy(500), file = compressed(content);
  std::size_t unnoticed = 0;
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      // Some bits have no meaning here: gzip's time, the size of zstd's window.
      EXPECT_TRUE(expand(damaged, kRoomy, "a") == content) << bit;
      ++unnoticed;
    } catch (const base::DataError& e) {
      EXPECT_THAT(e.what(), StartsWith("a: "));
    }
  }
  EXPECT_LT(unnoticed, 8 * 8U);
}

TEST_P(Expand, IsRefusedWithOtherBytesBehindIt) {
  const Bytes file = compressed(from("ab"));
  for (const std::string& other : {std::string(1, '\0'), std::string("other")}) {
    EXPECT_THAT(refusal(joined({file, from(other)})),
                AllOf(StartsWith("a: offset " + std::to_string(file.size()) + ": "),
                      testing::AnyOf(HasSubstr("found other bytes"),
                                     HasSubstr("or other bytes follow one"))));
  }
}

TEST_P(Expand, FillsMemoryOfTheSizeThatIsStated) {
  Bytes content;  // which lz4 compresses, too
  for (int i = 0; i < 10; ++i) content = joined({content, noisy(7000)});
  const Bytes file = compressed(content);
  const bool states = GetParam().ending != ".ZST" && GetParam().ending != ".LZ4";
  const base::TemporaryDirectory folder;
  const File stored(
      folder.write("file", std::string(reinterpret_cast<const char*>(file.data()), file.size())));
  ASSERT_LT(file.size(), content.size());
  const std::optional<std::int64_t> size =
      states ? std::optional(std::ssize(content)) : std::nullopt;
  EXPECT_EQ(stated_bytes(file, kRoomy), size);
  EXPECT_EQ(stated_bytes(stored, 0, stored.size(), kRoomy), size);
  EXPECT_EQ(stated_bytes(stored, 0, stored.size(), 70'000), size);
  EXPECT_EQ(stated_bytes(file, 69'999), std::nullopt);
  EXPECT_EQ(stated_bytes(compressed({}), kRoomy), std::nullopt) << "less than the file has";
  Bytes found(content.size());
  expand_into(file, found, "a");
  EXPECT_TRUE(found == content);
  for (const std::size_t other : {std::size_t{0}, content.size() - 1, content.size() + 1}) {
    Bytes wrong(other);
    EXPECT_THAT(base::thrown_message<base::DataError>([&] { expand_into(file, wrong, "a"); }),
                StartsWith("a: "));
  }
  for (std::size_t bytes = 0; bytes < file.size(); bytes += bytes < 40 ? 1 : 997) {
    stated_bytes(std::span(file).first(bytes), kRoomy);  // reads nothing beyond
  }
}

TEST(Gzip, TakesNoMemoryForAStatementThatItsBytesCannotFill) {
  Bytes file = gzip(noisy(300));
  file.resize(file.size() / 2);
  for (std::size_t i = file.size() - 4; i < file.size(); ++i) file[i] = std::byte{0x3f};  // 1 GiB
  const std::string name = "a";
  ExpandedBytes out(std::int64_t{1} << 40, name);
  EXPECT_THROW(expand_gzip(file, out), base::DataError);
  EXPECT_LT(out.memory().size(), std::size_t{1} << 20);
}

TEST(Compression, IsRecognisedByTheFirstBytes) {
  EXPECT_EQ(compression_of(gzip({})), Compression::kGzip);
  EXPECT_EQ(compression_of(zstd({})), Compression::kZstd);
  EXPECT_EQ(compression_of(lz4({})), Compression::kLz4);
  EXPECT_EQ(compression_of(joined({skippable("x"), skippable(""), lz4({})})), Compression::kLz4);
  EXPECT_EQ(compression_of(joined({skippable("x"), zstd({})})), Compression::kZstd);
  EXPECT_EQ(compression_of(skippable("only this")), Compression::kZstd);
  for (const char* other : {"", "x", "\x1f", "\x28\xb5\x2f", "\x89HDF\r\n\x1a\n", "other bytes"}) {
    EXPECT_EQ(compression_of(from(other)), Compression::kNone) << other;
  }
  EXPECT_EQ(refusal(from("other")), "a: expected a file of gzip, zstd or lz4, found other bytes");
}

TEST(Compression, SkipsFramesThatAreNoContent) {
  for (const Bytes& frame : {zstd(from("ab")), lz4(from("ab"))}) {
    const Bytes file = joined({skippable("one"), frame, skippable(""), frame, skippable("two")});
    EXPECT_EQ(expand(file, kRoomy, "a"), from("abab"));
    EXPECT_THAT(refusal(Bytes(file.begin(), file.end() - 1)),
                HasSubstr("the file is cut inside a skippable frame"));
    EXPECT_THAT(
        refusal(joined({frame, skippable("a"), frame == zstd(from("ab")) ? lz4({}) : zstd({})})),
        HasSubstr("found other bytes"))
        << "formats are not mixed";
  }
  EXPECT_EQ(expand(skippable("only this"), kRoomy, "a"), Bytes());
}

TEST(Compression, SaysThatADictionaryIsNeeded) {
  EXPECT_EQ(refusal(lz4(noisy(100), Stated::kSize, 77)),
            "a: offset 0: lz4: the frame needs dictionary 77, and samples are read without one");
  // The least dictionary with a number that zstd accepts comes from its trainer; a frame that names
  // one has the number in its header.
  Bytes file = zstd(noisy(100));
  ASSERT_EQ(file[4] & std::byte{3}, std::byte{0}) << "no dictionary";
  file[4] |= std::byte{1};
  file.insert(file.begin() + 5, std::byte{77});
  EXPECT_EQ(refusal(file),
            "a: offset 0: zstd: the frame needs dictionary 77, and samples are read without one");
}

TEST(Compression, DoesNotReadLegacyLz4) {
  const Bytes file = joined({lz4(from("ab")), from("\x02\x21\x4c\x18 and so on")});
  EXPECT_THAT(refusal(file), HasSubstr("the legacy format of lz4 -l is not read"));
}

TEST(Compression, IsLookedForInFilesThatMayHaveIt) {
  for (const char* file : {"a.h5.zst", "a.tfrecord", "a.TFRecord", "a.h5.GZ", "a.tfrecord.lz4"}) {
    EXPECT_TRUE(may_be_compressed(file)) << file;
  }
  for (const char* file : {"a.h5", "a.hdf5", "a.jpg", ""}) EXPECT_FALSE(may_be_compressed(file));
}

TEST(Compression, HasAnEndingInAnyCase) {
  EXPECT_EQ(without_compression("a.h5.zst"), "a.h5");
  EXPECT_EQ(without_compression("a.h5.LZ4"), "a.h5");
  EXPECT_EQ(without_compression("a.tfrecord.Gz"), "a.tfrecord");
  for (const char* other : {"a.h5", "", "a.zst.h5", "zst", "a.bz2"}) {
    EXPECT_EQ(without_compression(other), other);
  }
  EXPECT_EQ(without_compression("a.h5.gz.zst"), "a.h5.gz") << "one ending";
}

/// Whether a command of the shell succeeds.
bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }

TEST(Compression, ReadsWhatTheToolsWrite) {
  const base::TemporaryDirectory folder;
  const Bytes content = noisy(1'200'000);
  const std::string plain = folder.write(
      "plain", std::string(reinterpret_cast<const char*>(content.data()), content.size()));
  for (const std::string command :
       {"gzip -c", "gzip -9 -c", "zstd -q -c", "zstd -q -19 --long=24 --no-check -c",
        "zstd -q -T2 -c <", "lz4 -q -c", "lz4 -q -9 --content-size -BX -c",
        "lz4 -q -B4 -BD -c <"}) {
    const std::string tool = command.substr(0, command.find(' '));
    if (!succeeds("command -v " + tool + " >/dev/null"))
      GTEST_SKIP() << tool << " is not installed";
    const std::string path = (folder.path() / "file").string();
    ASSERT_TRUE(succeeds(command + " " + plain + " >" + path)) << command;
    const File file(path);
    EXPECT_TRUE(expand(read_rest(file, {}), std::ssize(content), "a") == content) << command;
  }
}

}  // namespace
}  // namespace dataset
