// Tests of pictures of masks: positions, colours, and file names.
#include "workloads/deepcam/mask_pictures.h"

#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <iterator>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/dataset.h"

namespace deepcam {
namespace {

using Colour = std::array<std::uint8_t, 3>;
constexpr Colour kBackground = {24, 24, 32}, kCyclone = {240, 144, 32}, kRiver = {48, 144, 240};
constexpr Colour kWhite = {255, 255, 255};
constexpr std::int64_t kHeight = 2, kWidth = 3, kPoints = kHeight * kWidth, kLine = 4;

class MaskPicturesTest : public testing::Test {
 protected:
  dataset::Image picture(const std::string& name) const {
    std::ifstream file(folder_.path() / "pictures" / name, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    return dataset::decode_image({first, first + bytes.size()}, name);
  }
  static Colour colour(const dataset::Image& image, std::int64_t row, std::int64_t column) {
    const auto at = static_cast<std::size_t>(3 * (row * kWidth + column));
    return {image.pixels[at], image.pixels[at + 1], image.pixels[at + 2]};
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(MaskPicturesTest, ShowNorthAboveAndWhatWasFoundBelow) {
  MaskPictures pictures(kHeight, kWidth, (folder_.path() / "pictures").string());
  // Two scenes, each with the southern row first. Prediction for the second: 2 1 0 in the north,
  // else 0.
  const std::vector<float> labels = {0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2};
  std::vector<float> outputs(2 * 3 * kPoints, 0.0F);
  const auto find = [&](std::int64_t which, std::int64_t point) {
    outputs[static_cast<std::size_t>((3 + which) * kPoints + point)] = 1.0F;
  };
  find(2, 3);
  find(1, 4);
  pictures.write_targets(41, 3 * kPoints, outputs, labels);
  const dataset::Image first = picture("scene_000041.png"), second = picture("scene_000042.png");
  ASSERT_EQ(first.height, 2 * kHeight + kLine);
  ASSERT_EQ(first.width, kWidth);
  EXPECT_EQ(colour(first, 0, 0), kBackground);
  const std::vector<Colour> there = {kRiver, kRiver, kRiver, kBackground, kCyclone, kRiver};
  const std::vector<Colour> found = {kRiver,      kCyclone,    kBackground,
                                     kBackground, kBackground, kBackground};
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const std::int64_t row = i / kWidth, column = i % kWidth;
    EXPECT_EQ(colour(second, row, column), there[static_cast<std::size_t>(i)]) << i;
    EXPECT_EQ(colour(second, kHeight + kLine + row, column), found[static_cast<std::size_t>(i)])
        << i;
  }
  for (std::int64_t line = 0; line < kLine; ++line) {
    EXPECT_EQ(colour(second, kHeight + line, 0), kWhite);
  }
}

TEST_F(MaskPicturesTest, TakeMasksAlone) {
  MaskPictures pictures(kHeight, kWidth, (folder_.path() / "pictures").string());
  EXPECT_THROW(pictures.write(0, 3, {}, {}), base::Error);
}

TEST_F(MaskPicturesTest, AreNotMadeWhereNoFolderCanBe) {
  std::ofstream(folder_.path() / "file") << "hello";
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] {
                MaskPictures(kHeight, kWidth, (folder_.path() / "file/pictures").string());
              }),
              testing::HasSubstr("file/pictures: Not a directory"));
}

}  // namespace
}  // namespace deepcam
