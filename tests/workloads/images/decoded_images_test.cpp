// Tests of decoded images in memory: which are kept, and that their pixels are those of decoding.
#include "workloads/images/decoded_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/error.h"
#include "staging/dataset/encode.h"
#include "workloads/images/augment_stream.h"
#include "workloads/images/crops.h"

namespace images {
namespace {

constexpr int kHeight = 37, kWidth = 53;
/// Of an image that is kept.
constexpr std::int64_t kBytes = 3 * kHeight * kWidth + 8;

/// Colors that change from pixel to pixel.
dataset::Image noisy_image(std::uint64_t number, int height, int width) {
  auto random = stream(number);
  dataset::Image image{height, width, {}};
  for (int i = 0; i < 3 * height * width; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  return image;
}

std::vector<std::byte> file_of(std::int64_t number) {
  return dataset::encode_jpeg(noisy_image(static_cast<std::uint64_t>(number), kHeight, kWidth), 90);
}

dataset::Image decode(DecodedImages& images, std::int64_t index, std::int64_t next_use) {
  return images.decode(file_of(index), "image", index, next_use, dataset::whole_image);
}

bool has(DecodedImages& images, std::int64_t index, std::int64_t next_use) {
  return images.find(index, next_use, dataset::whole_image).has_value();
}

TEST(DecodedImages, HavePartsWithThePixelsOfDecodedParts) {
  constexpr std::int64_t kRoom = 10'000'000;
  std::int64_t index = 0;
  for (const auto& [height, width] : {std::pair{1, 1}, {8, 300}, {131, 17}, {kHeight, kWidth}}) {
    const dataset::Image image = noisy_image(1, height, width);
    for (const auto& bytes : {dataset::encode_jpeg(image, 90), dataset::encode_png(image)}) {
      for (std::uint64_t draw = 0; draw < 30; ++draw) {
        const auto choose = [draw](int h, int w) {
          auto random = stream(draw);
          return dataset::View(random_resized_crop(h, w, random));
        };
        const dataset::Image expected = dataset::decode_view(bytes, "part", choose);
        DecodedImages images(kRoom);
        EXPECT_FALSE(images.find(index, 1, choose));
        for (const auto& part : {std::optional(images.decode(bytes, "image", index, 1, choose)),
                                 images.find(index, 2, choose), images.find(index, 3, choose)}) {
          ASSERT_TRUE(part);
          EXPECT_EQ(part->height, expected.height);
          EXPECT_EQ(part->width, expected.width);
          ASSERT_EQ(part->pixels, expected.pixels) << height << " x " << width << ", " << draw;
        }
        ++index;
      }
    }
  }
}

TEST(DecodedImages, MakeRoomOnlyForOneThatIsUsedBefore) {
  constexpr std::int64_t kRoom = 2 * kBytes + kBytes / 2;
  DecodedImages images(kRoom);
  for (const std::int64_t index : {1, 2, 3}) decode(images, index, 5);
  EXPECT_EQ(images.images(), 2);
  EXPECT_EQ(images.bytes(), 2 * kBytes);
  EXPECT_TRUE(has(images, 1, 5));
  EXPECT_TRUE(has(images, 2, 6)) << "and from now on it is used late";
  EXPECT_FALSE(has(images, 3, 5));
  const dataset::Image sooner = decode(images, 4, 5);
  EXPECT_EQ(sooner.pixels, dataset::decode_image(file_of(4), "same").pixels);
  EXPECT_TRUE(has(images, 1, 5));
  EXPECT_FALSE(has(images, 2, 6));
  EXPECT_TRUE(has(images, 4, 5));
  EXPECT_LE(images.bytes(), kRoom);
}

TEST(DecodedImages, KeepNothingThatIsNotUsedAgainOrHasNoRoom) {
  DecodedImages none(0), less(kBytes - 1), some(kBytes);
  const auto expected = dataset::decode_image(file_of(1), "same").pixels;
  for (DecodedImages* images : {&none, &less}) {
    EXPECT_EQ(decode(*images, 1, 1).pixels, expected);
    EXPECT_EQ(images->images(), 0);
  }
  EXPECT_EQ(decode(some, 1, cache::kNever).pixels, expected);
  EXPECT_EQ(some.images(), 0);
  decode(some, 1, 1);
  EXPECT_EQ(some.images(), 1);
}

TEST(DecodedImages, KeepNoDamagedOneAndTellAFlaw) {
  DecodedImages images(10 * kBytes);
  std::vector<std::byte> half = file_of(1);
  half.resize(half.size() / 2);
  EXPECT_THROW(images.decode(half, "half", 1, 1, dataset::whole_image), base::DataError);
  EXPECT_EQ(images.images(), 0);
  std::vector<std::byte> without_end = file_of(2);
  without_end.resize(without_end.size() - 2);
  const dataset::Image flawed = images.decode(without_end, "flawed", 2, 1, [](int, int) {
    return dataset::Region{3, 4, 5, 6};
  });
  EXPECT_FALSE(flawed.flaw.empty());
  EXPECT_TRUE(has(images, 2, 1));
}

}  // namespace
}  // namespace images
