// Tests of the image decoder: every encoding found in datasets, and damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/encode.h"
#include "tests/staging/dataset/images.h"

namespace dataset {
namespace {

using testing::HasSubstr;

int worst_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.width, b.width);
  int worst = a.pixels.size() == b.pixels.size() ? 0 : 256;
  for (std::size_t i = 0; i < std::min(a.pixels.size(), b.pixels.size()); ++i) {
    worst = std::max(worst, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return worst;
}

constexpr int kHeight = 37, kWidth = 53;

TEST(DecodeImage, DecodesBaselineAndProgressiveJpeg) {
  const Image image = smooth_image(kHeight, kWidth);
  const auto baseline = make_jpeg(image.pixels, kHeight, kWidth, 3, {});
  const auto progressive = make_jpeg(image.pixels, kHeight, kWidth, 3, {.progressive = true});
  EXPECT_NE(baseline, progressive);
  EXPECT_LE(worst_difference(decode_image(baseline, "a"), image), 6);
  EXPECT_EQ(decode_image(baseline, "a").pixels, decode_image(progressive, "b").pixels);
}

Image part_of(const Image& image, const Region& region) {
  Image part{region.height, region.width, {}, {}};
  for (int y = region.top; y < region.top + region.height; ++y) {
    const auto from = image.pixels.begin() + 3 * (y * image.width + region.left);
    part.pixels.insert(part.pixels.end(), from, from + 3 * region.width);
  }
  return part;
}

/// Colors that change from pixel to pixel.
Image noisy_image(int height, int width, std::uint32_t seed) {
  std::mt19937 random(seed);
  Image image{height, width, {}, {}};
  for (int i = 0; i < 3 * height * width; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(random() % 256));
  }
  return image;
}

/// Expects each of `regions` random ones to have the pixels of the whole image.
void expect_regions(const std::vector<std::byte>& bytes, int regions, std::uint32_t seed) {
  const Image whole = decode_image(bytes, "whole");
  std::mt19937 random(seed);
  const auto draw = [&random](int least, int most) {
    return static_cast<int>(random() % static_cast<std::uint32_t>(most - least + 1)) + least;
  };
  for (int i = 0; i < regions; ++i) {
    Region region{0, 0, draw(1, whole.height), draw(1, whole.width)};
    region.top = draw(0, whole.height - region.height);
    region.left = draw(0, whole.width - region.width);
    const Image part = decode_view(bytes, "part", [&](int height, int width) {
      EXPECT_EQ(height, whole.height);
      EXPECT_EQ(width, whole.width);
      return region;
    });
    ASSERT_EQ(part.height, region.height);
    ASSERT_EQ(part.width, region.width);
    ASSERT_EQ(part.pixels, part_of(whole, region).pixels)
        << region.top << ' ' << region.left << ' ' << region.height << ' ' << region.width;
  }
}

TEST(DecodeRegion, HasThePixelsOfTheWholeImage) {
  constexpr int kRegions = 60;
  std::uint32_t seed = 1;
  for (const auto& [height, width] :
       {std::pair{1, 1}, {8, 300}, {131, 17}, {kHeight, kWidth}, {128, 160}, {201, 303}}) {
    const Image image = noisy_image(height, width, ++seed);
    for (const auto& [columns, rows] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
      for (const bool progressive : {false, true}) {
        SCOPED_TRACE(testing::Message() << height << " x " << width << ", " << columns << " x "
                                        << rows << ", progressive " << progressive);
        JpegForm form;
        form.progressive = progressive;
        form.luma_columns = columns;
        form.luma_rows = rows;
        expect_regions(make_jpeg(image.pixels, height, width, 3, form), kRegions, ++seed);
      }
    }
    expect_regions(make_jpeg(image.pixels, height, width, 3, {.arithmetic = true}), kRegions,
                   ++seed);
    expect_regions(make_jpeg(image.pixels, height, width, 3, {.stored = JCS_RGB}), kRegions,
                   ++seed);
    const std::vector<std::uint8_t> gray(image.pixels.begin(),
                                         image.pixels.begin() + std::ssize(image.pixels) / 3);
    const JpegForm gray_form{.input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
    expect_regions(make_jpeg(gray, height, width, 1, gray_form), kRegions, ++seed);
    expect_regions(encode_png(image), kRegions, ++seed);
  }
}

TEST(DecodeView, ShrinksRegionsToThePixelsOfTheShrunkWhole) {
  std::mt19937 random(5);
  const auto draw = [&random](int most) {
    return static_cast<int>(random() % static_cast<std::uint32_t>(most + 1));
  };
  constexpr int kRegions = 40;
  for (const auto& [height, width] : {std::pair{1, 1}, {37, 53}, {128, 160}, {201, 303}}) {
    const Image image = noisy_image(height, width, 9);
    for (const auto& [columns, rows] : {std::pair{1, 1}, {2, 1}, {2, 2}, {4, 1}}) {
      JpegForm form;
      form.luma_columns = columns;
      form.luma_rows = rows;
      const auto bytes = make_jpeg(image.pixels, height, width, 3, form);
      for (const int shrink : {2, 4, 8}) {
        const auto whole = decode_view(
            bytes, "whole", [&](int h, int w) { return View(whole_image(h, w), shrink); });
        ASSERT_EQ(whole.height, (height + shrink - 1) / shrink);
        ASSERT_EQ(whole.width, (width + shrink - 1) / shrink);
        for (int i = 0; i < kRegions; ++i) {
          const int top = draw(height - 1), left = draw(width - 1);
          const int bottom = top + 1 + draw(height - 1 - top);
          const int right = left + 1 + draw(width - 1 - left);
          const Image part = decode_view(bytes, "part", [&](int, int) {
            return View({top, left, bottom - top, right - left}, shrink);
          });
          const int from_top = top / shrink, from_left = left / shrink;
          const Region small{from_top, from_left, (bottom + shrink - 1) / shrink - from_top,
                             (right + shrink - 1) / shrink - from_left};
          ASSERT_EQ(part.height, small.height);
          ASSERT_EQ(part.width, small.width);
          ASSERT_EQ(part.pixels, part_of(whole, small).pixels)
              << height << " x " << width << ", luma " << columns << " x " << rows << ", shrink "
              << shrink << ": " << top << ' ' << left << ' ' << bottom << ' ' << right;
        }
      }
    }
  }
}

TEST(DecodeView, ShrinksToAboutTheMeansOfSquares) {
  const int height = 64, width = 96;
  const auto bytes = make_jpeg(smooth_image(height, width).pixels, height, width, 3, {});
  const Image whole = decode_image(bytes, "whole");
  for (const int shrink : {2, 4, 8}) {
    const Image small =
        decode_view(bytes, "small", [&](int h, int w) { return View(whole_image(h, w), shrink); });
    Image means{height / shrink, width / shrink, {}, {}};
    for (int y = 0; y < means.height; ++y) {
      for (int i = 0; i < 3 * means.width; ++i) {
        int sum = 0;
        for (int k = 0; k < shrink * shrink; ++k) {
          const int row = y * shrink + k / shrink, column = i / 3 * shrink + k % shrink;
          sum += whole.pixels[static_cast<std::size_t>(3 * (row * width + column) + i % 3)];
        }
        means.pixels.push_back(static_cast<std::uint8_t>(sum / (shrink * shrink)));
      }
    }
    EXPECT_LE(worst_difference(small, means), 6) << shrink;
  }
}

TEST(DecodeView, ShrinksNoPng) {
  const Image image = smooth_image(kHeight, kWidth);
  const Image same =
      decode_view(encode_png(image), "a", [](int h, int w) { return View(whole_image(h, w), 4); });
  EXPECT_EQ(worst_difference(same, image), 0);
}

TEST(DecodeRegion, ChecksTheWholeFile) {
  const Image image = noisy_image(64, 64, 3);
  const auto top = [](int, int width) { return Region{0, 0, 8, width}; };
  const auto bottom = [](int height, int width) { return Region{height - 8, 0, 8, width}; };
  for (const bool progressive : {false, true}) {
    const auto bytes = make_jpeg(image.pixels, 64, 64, 3, {.progressive = progressive});
    EXPECT_EQ(decode_view(bytes, "a", top).height, 8);
    const std::vector<std::byte> half(bytes.begin(), bytes.begin() + std::ssize(bytes) / 2);
    for (const ChooseView& choose : {ChooseView(top), ChooseView(bottom)}) {
      EXPECT_THAT(base::thrown_message<base::DataError>([&] { decode_view(half, "a", choose); }),
                  HasSubstr("a: damaged JPEG data"));
    }
  }
}

TEST(DecodeRegion, RefusesWhatIsNotWithinTheImage) {
  const auto bytes = encode_png(smooth_image(4, 6));
  for (const Region region : {Region{0, 0, 0, 6},
                              {0, 0, 5, 6},
                              {-1, 0, 2, 2},
                              {0, 5, 1, 2},
                              {0, 0, 4, -1},
                              {2147483647, 0, 2147483647, 1}}) {
    EXPECT_THROW(decode_view(bytes, "a", [&](int, int) { return region; }), base::ShapeError);
  }
  for (const int factor : {0, -1, 3, 16}) {
    const auto choose = [&](int height, int width) {
      return View(whole_image(height, width), factor);
    };
    EXPECT_THROW(decode_view(bytes, "a", choose), base::ShapeError);
  }
}

TEST(DecodeImage, TurnsGrayIntoEqualChannels) {
  std::vector<std::uint8_t> gray(kHeight * kWidth);
  for (std::size_t i = 0; i < gray.size(); ++i) gray[i] = std::uint8_t(i % kWidth * 4);
  const Image image = decode_image(
      make_jpeg(gray, kHeight, kWidth, 1, {.input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE}), "g");
  for (std::size_t i = 0; i < gray.size(); ++i) {
    EXPECT_NEAR(image.pixels[3 * i], gray[i], 4);
    EXPECT_EQ(image.pixels[3 * i], image.pixels[3 * i + 1]);
    EXPECT_EQ(image.pixels[3 * i], image.pixels[3 * i + 2]);
  }
}

/// The inks that print `image` without black, as 0..255 of ink.
std::vector<std::uint8_t> inks_of(const Image& image) {
  std::vector<std::uint8_t> inks;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) inks.push_back(std::uint8_t(255 - image.pixels[i + c]));
    inks.push_back(0);
  }
  return inks;
}

TEST(DecodeImage, TurnsCmykAndAdobesInvertedInksIntoRgb) {
  const Image image = smooth_image(kHeight, kWidth);
  const std::vector<std::uint8_t> inks = inks_of(image);
  std::vector<std::uint8_t> inverted = inks;
  for (auto& ink : inverted) ink = std::uint8_t(255 - ink);
  const auto plain = make_jpeg(inks, kHeight, kWidth, 4, {.input = JCS_CMYK, .stored = JCS_CMYK});
  const auto adobe = make_jpeg(inverted, kHeight, kWidth, 4,
                               {.input = JCS_CMYK, .stored = JCS_CMYK, .adobe_marker = true});
  const auto ycck = make_jpeg(inverted, kHeight, kWidth, 4,
                              {.input = JCS_CMYK, .stored = JCS_YCCK, .adobe_marker = true});
  EXPECT_LE(worst_difference(decode_image(plain, "plain"), image), 8);
  EXPECT_LE(worst_difference(decode_image(adobe, "adobe"), image), 8);
  EXPECT_LE(worst_difference(decode_image(ycck, "ycck"), image), 8);
}

TEST(DecodeImage, DarkensByTheBlackInk) {
  std::vector<std::uint8_t> inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {0, 128, 255, 128});
  const Image image =
      decode_image(make_jpeg(inks, 8, 8, 4, {.input = JCS_CMYK, .stored = JCS_CMYK}), "cmyk");
  EXPECT_NEAR(image.pixels[0], 127, 2);
  EXPECT_NEAR(image.pixels[1], 63, 2);
  EXPECT_NEAR(image.pixels[2], 0, 2);
}

TEST(DecodeImage, DecodesPngByContent) {
  const Image image = smooth_image(kHeight, kWidth);
  const auto png = make_png(image.pixels, kHeight, kWidth, PNG_FORMAT_RGB);
  EXPECT_EQ(decode_image(png, "n02105855_2933.JPEG").pixels, image.pixels);

  std::vector<std::uint8_t> gray(kHeight * kWidth, 77);
  const Image gray_image = decode_image(make_png(gray, kHeight, kWidth, PNG_FORMAT_GRAY), "gray");
  EXPECT_EQ(gray_image.pixels, std::vector<std::uint8_t>(kHeight * kWidth * 3, 77));

  std::vector<std::uint8_t> with_alpha;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    with_alpha.insert(with_alpha.end(), {image.pixels[i], image.pixels[i + 1], image.pixels[i + 2],
                                         std::uint8_t(i % 256)});
  }
  EXPECT_EQ(decode_image(make_png(with_alpha, kHeight, kWidth, PNG_FORMAT_RGBA), "alpha").pixels,
            image.pixels);
}

TEST(DecodeImage, KnowsTheSizeFromTheHeaderAlone) {
  const Image image = smooth_image(300, 400);
  for (auto file : {encode_jpeg(image, 90), make_png(image.pixels, 300, 400, PNG_FORMAT_RGB)}) {
    file.resize(file.size() - 100);
    const Image header = decode_image_header(file, "a");
    EXPECT_EQ(header.height, 300);
    EXPECT_EQ(header.width, 400);
    EXPECT_TRUE(header.pixels.empty());
  }
}

TEST(DecodeImage, RefusesACutFileWhereverItIsCut) {
  const Image image = smooth_image(kHeight, kWidth);
  const auto png = make_png(image.pixels, kHeight, kWidth, PNG_FORMAT_RGB);
  for (const auto& whole :
       {encode_jpeg(image, 90), make_jpeg(image.pixels, kHeight, kWidth, 3, {.progressive = true}),
        png}) {
    for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
      std::vector<std::byte> cut(whole.begin(), whole.begin() + std::ptrdiff_t(size));
      const std::string message =
          base::thrown_message<base::DataError>([&] { decode_image(cut, "cut.JPEG"); });
      EXPECT_TRUE(message.starts_with("cut.JPEG: ")) << message;
    }
  }
}

std::vector<std::byte> with_bytes(std::vector<std::byte> file, std::size_t place, int count) {
  std::vector<std::byte> stray;
  for (int i = 0; i < count; ++i) stray.push_back(std::byte(i % 255));
  file.insert(file.begin() + std::ptrdiff_t(place), stray.begin(), stray.end());
  return file;
}

TEST(DecodeImage, DecodesAnImageWithStrayBytesBetweenSegmentsAndSaysSo) {
  const Image image = smooth_image(kHeight, kWidth);
  for (const auto& whole : {encode_jpeg(image, 90),
                            make_jpeg(image.pixels, kHeight, kWidth, 3, {.progressive = true})}) {
    const Image expected = decode_image(whole, "whole");
    EXPECT_EQ(expected.flaw, "");
    for (const int count : {1, 3, 245, 5000}) {
      const Image before_end = decode_image(with_bytes(whole, whole.size() - 2, count), "a");
      EXPECT_EQ(before_end.pixels, expected.pixels) << count;
      // libjpeg does not notice the few bytes that are in its bit buffer by then.
      if (count > 8) {
        EXPECT_THAT(before_end.flaw, HasSubstr("extraneous bytes before marker 0xd9"));
      }
      const Image in_header = decode_image(with_bytes(whole, 20, count), "a");  // after JFIF's
      EXPECT_EQ(in_header.pixels, expected.pixels) << count;
      EXPECT_THAT(in_header.flaw, HasSubstr("extraneous bytes before marker 0xdb"));
    }
  }
}

TEST(DecodeImage, DecodesAnImageThatLacksOnlyItsEndMarkAndSaysSo) {
  const Image image = smooth_image(kHeight, kWidth);
  const auto whole = encode_jpeg(image, 90);
  for (const std::size_t missing : {std::size_t{1}, std::size_t{2}}) {
    const std::vector<std::byte> cut(whole.begin(), whole.end() - std::ptrdiff_t(missing));
    const Image decoded = decode_image(cut, "a");
    EXPECT_EQ(decoded.pixels, decode_image(whole, "a").pixels);
    EXPECT_THAT(decoded.flaw, HasSubstr("Premature end"));
  }
  // Another scan could follow in a progressive one.
  auto progressive = make_jpeg(image.pixels, kHeight, kWidth, 3, {.progressive = true});
  progressive.resize(progressive.size() - 2);
  EXPECT_THROW(decode_image(progressive, "a"), base::DataError);
}

TEST(DecodeImage, RefusesDamagedEntropyData) {
  const Image image = smooth_image(256, 256);
  auto jpeg = encode_jpeg(image, 90);
  // A restart marker where none is allowed.
  jpeg[jpeg.size() / 2] = std::byte{0xff};
  jpeg[jpeg.size() / 2 + 1] = std::byte{0xd3};
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { decode_image(jpeg, "bad.JPEG"); }),
              HasSubstr("bad.JPEG: damaged JPEG data: "));
}

TEST(DecodeImage, RefusesWhatIsNoImage) {
  EXPECT_THAT(base::thrown_message<base::DataError>([] { decode_image({}, "empty.JPEG"); }),
              HasSubstr("empty.JPEG: expected a JPEG or PNG image, found an empty file"));
  EXPECT_THROW(decode_image(std::vector<std::byte>(100), "zeros.JPEG"), base::DataError);
}

TEST(DecodeImage, RefusesASizeThatOnlyDamageExplains) {
  auto jpeg = encode_jpeg(smooth_image(16, 16), 90);
  for (std::size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] == std::byte{0xff} && jpeg[i + 1] == std::byte{0xc0}) {
      for (std::size_t k = 5; k < 9; ++k) jpeg[i + k] = std::byte{0xfd};
      break;
    }
  }
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { decode_image(jpeg, "bomb.JPEG"); }),
              HasSubstr("bomb.JPEG: expected at most"));
}

TEST(DecodeImage, SurvivesAnyDamage) {
  const Image image = smooth_image(24, 24);
  std::mt19937 random(5);
  for (const auto& whole :
       {encode_jpeg(image, 90), make_png(image.pixels, 24, 24, PNG_FORMAT_RGB),
        make_jpeg(inks_of(image), 24, 24, 4, {.input = JCS_CMYK, .stored = JCS_YCCK})}) {
    for (int trial = 0; trial < 1500; ++trial) {
      auto damaged = whole;
      for (int hits = 0; hits < 3; ++hits) damaged[random() % damaged.size()] = std::byte(random());
      try {
        const Image decoded = decode_image(damaged, "x");
        EXPECT_EQ(decoded.pixels.size(), std::size_t(decoded.height * decoded.width * 3));
      } catch (const base::DataError&) {
      }
    }
  }
}

}  // namespace
}  // namespace dataset
