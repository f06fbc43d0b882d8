// Tests of the image encoders.
#include "staging/dataset/encode.h"

#include <gtest/gtest.h>

#include "runner/base/error.h"
#include "staging/dataset/dataset.h"
#include "tests/staging/dataset/images.h"

namespace dataset {
namespace {

TEST(EncodePng, GivesBackItsPixels) {
  const Image image = smooth_image(37, 53);
  const Image again = decode_image(encode_png(image), "a");
  EXPECT_EQ(again.height, image.height);
  EXPECT_EQ(again.width, image.width);
  EXPECT_EQ(again.pixels, image.pixels);
  EXPECT_THROW(encode_png(Image{0, 0, {}}), base::SystemError);
}

TEST(EncodeJpeg, GivesTheSameBytesForTheSamePixels) {
  EXPECT_EQ(encode_jpeg(smooth_image(32, 32), 90), encode_jpeg(smooth_image(32, 32), 90));
  EXPECT_THROW(encode_jpeg(Image{0, 0, {}}, 90), base::SystemError);
}

}  // namespace
}  // namespace dataset
