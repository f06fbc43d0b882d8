// Kernels on columns, for every instruction set, against plain loops in double precision.
#include "workloads/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "workloads/kernels/aligned.h"
#include "workloads/kernels/column_cases.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using namespace columns;
using nn::Bf16;
using nn::Column;

/// Tests of kernels on activations of either type.
template <class T>
class ColumnKernels : public testing::Test {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(ColumnKernels, Types);

TYPED_TEST(ColumnKernels, TakeMoments) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      const auto src = wave<TypeParam>(c, 0.1);
      std::vector<double> mean(channels(c)), squares(channels(c));
      kernels->on<TypeParam>().moments(src.data(), {c.rows, c.stride, c.width}, mean.data(),
                                       squares.data());
      for (int lane = 0; lane < c.width; ++lane) {
        double expected_mean = 0.0, expected = 0.0;
        for (std::int64_t row = 0; row < c.rows; ++row) expected_mean += value(src, c, row, lane);
        expected_mean /= static_cast<double>(c.rows);
        for (std::int64_t row = 0; row < c.rows; ++row)
          expected += std::pow(value(src, c, row, lane) - expected_mean, 2);
        EXPECT_NEAR(mean[static_cast<std::size_t>(lane)], expected_mean, 1e-6);
        EXPECT_NEAR(squares[static_cast<std::size_t>(lane)], expected,
                    1e-5 * static_cast<double>(c.rows));
      }
    }
  }
}

/// Expects the mean and the squared deviations of a channel as plain loops give them, the latter
/// within the relative error `share`.
void expect_moments(const Case& c, const std::vector<float>& src, double share) {
  const auto rows = static_cast<double>(c.rows);
  double expected_mean = 0.0, expected = 0.0;
  for (std::int64_t row = 0; row < c.rows; ++row) expected_mean += value(src, c, row, 3) / rows;
  for (std::int64_t row = 0; row < c.rows; ++row)
    expected += std::pow(value(src, c, row, 3) - expected_mean, 2);
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<double> mean(16), squares(16);
    kernels->f32.moments(src.data(), {c.rows, c.stride, c.width}, mean.data(), squares.data());
    EXPECT_NEAR(mean[3] / expected_mean, 1.0, 1e-6);
    EXPECT_NEAR(squares[3] / expected, 1.0, share);
  }
}

TEST(Kernels, KeepTheVarianceWhereTheFirstRowsAreFarFromTheOthers) {
  // First rows far from the rest, as at the pole of a scene: 256 rows of 1,000 +- 1, then 4,000 of
  // +- 1.
  const Case c = {4256, 16, 16};
  std::vector<float> src = wave<float>(c, 0.0, 0.0);
  for (std::size_t i = 0; i < std::size_t{256} * 16; ++i) src[i] += 1000.0F;
  expect_moments(c, src, 1e-6);
}

TEST(Kernels, KeepTheVarianceOfValuesFarFromZero) {
  // 10,000 +- 1: sums of squares in single precision would lose all digits of the variance.
  const Case c = {400, 16, 16};
  expect_moments(c, wave<float>(c, 0.0, 10003.0), 1e-3);
}

enum class Adds { kNothing, kValue, kNormalized };

/// Normalises with every instruction set, and compares values and signs with plain loops.
template <class T>
void expect_normalized(const Case& c, bool relu, Adds adds) {
  const std::size_t width = channels(c);
  const std::vector<float> mean(width, 3.0F), scale(width, 2.0F), shift(width, 0.25F);
  const std::vector<float> half(width, 0.5F);
  const auto src = wave<T>(c, 0.1), residual = wave<T>(c, 2.0, 0.0);
  const nn::Normalization norm = {mean.data(), scale.data(), shift.data()};
  const nn::Normalization other = {shift.data(), half.data(), mean.data()};
  const nn::Residual<T> added = {adds == Adds::kNothing ? nullptr : residual.data(),
                                 adds == Adds::kNormalized ? &other : nullptr};
  const auto addend = [&](std::int64_t row, int lane) {
    if (adds == Adds::kNothing) return 0.0;
    const double x = value(residual, c, row, lane);
    return adds == Adds::kValue ? x : (x - 0.25) * 0.5 + 3.0;
  };
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<T> dst(src.size(), rounded_to<T>(-7.0));
    std::vector<nn::PassedBits> passed(sign_words(c), 0xAAAA);
    kernels->on<T>().normalize(src.data(), norm, added, dst.data(), relu ? passed.data() : nullptr,
                               {c.rows, c.stride, c.width}, relu, nn::Stores::kCached);
    for (std::int64_t row = 0; row < c.rows; ++row) {
      for (int lane = 0; lane < c.width; ++lane) {
        const unsigned bits = passed[sign_word(c, row, lane)] >> (lane % 16);
        double expected = (value(src, c, row, lane) - 3.0) * 2.0 + 0.25 + addend(row, lane);
        if (relu) {
          expected = std::max(expected, 0.0);
          EXPECT_EQ(bits & 1u, value(dst, c, row, lane) > 0.0 ? 1u : 0u);
        }
        EXPECT_NEAR(value(dst, c, row, lane), expected,
                    1e-5 + kRoundingError<T> * std::abs(expected));
      }
      const unsigned last = passed[sign_word(c, row, c.width - 1)];
      EXPECT_EQ(relu ? last >> ((c.width - 1) % 16 + 1) : 0u, 0u)
          << "of channels that are not there";
      for (std::int64_t lane = c.width; lane < c.stride; ++lane) {
        EXPECT_EQ(value(dst, c, row, static_cast<int>(lane)), -7.0) << "wrote beside the column";
      }
    }
  }
}

TYPED_TEST(ColumnKernels, NormalizeWithResidualAndRelu) {
  for (const Case& c : kCases) {
    for (const bool relu : {false, true}) {
      for (const Adds adds : {Adds::kNothing, Adds::kValue, Adds::kNormalized}) {
        expect_normalized<TypeParam>(c, relu, adds);
      }
    }
  }
}

/// Streams to the beginning of a cache line, and inside one, where streaming is impossible.
template <class T>
void expect_streamed(const Case& c, Adds adds, bool keeps) {
  const auto src = wave<T>(c, 0.1), added = wave<T>(c, 2.0, -0.5);
  std::vector<float> mean(channels(c)), scale(channels(c)), shift(channels(c));
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const float some = std::sin(static_cast<float>(i));
    mean[i] = 3.0F + 0.1F * some;
    scale[i] = 2.0F - some;
    shift[i] = 0.25F * some;
  }
  const nn::Normalization norm = {mean.data(), scale.data(), shift.data()};
  const nn::Normalization other = {shift.data(), scale.data(), mean.data()};
  nn::Residual<T> residual;
  if (adds != Adds::kNothing) residual.src = added.data();
  if (adds == Adds::kNormalized) residual.norm = &other;
  constexpr std::int64_t kApart = 4;
  const nn::AlignedFloats memory(c.rows * c.stride + kApart);
  auto* const line = reinterpret_cast<T*>(memory.data());
  for (const nn::Kernels* kernels : usable_kernels()) {
    const auto normalize = [&](T* dst, std::vector<nn::PassedBits>& passed, nn::Stores stores) {
      kernels->on<T>().normalize(src.data(), norm, residual, dst, keeps ? passed.data() : nullptr,
                                 {c.rows, c.stride, c.width}, true, stores);
    };
    std::vector<T> cached(src.size(), rounded_to<T>(-7.0));
    std::vector<nn::PassedBits> passed(sign_words(c)), streamed(sign_words(c));
    normalize(cached.data(), passed, nn::Stores::kCached);
    for (T* const dst : {line, line + kApart}) {
      std::fill_n(dst, src.size(), rounded_to<T>(-7.0));
      normalize(dst, streamed, nn::Stores::kStreamed);
      EXPECT_EQ(std::memcmp(dst, cached.data(), cached.size() * sizeof(T)), 0);
      EXPECT_EQ(streamed, passed);
    }
  }
}

TYPED_TEST(ColumnKernels, StreamTheSameBits) {
  // Includes rows that end inside a cache line, or inside 16 channels, but fill whole lines
  // together.
  for (const Case& c :
       {Case{602, 16, 16}, Case{77, 96, 96}, Case{12, 728, 728}, Case{16, 10, 10}, Case{18, 48, 48},
        Case{9, 3, 3}, Case{4, 2048, 2048}, Case{77, 96, 128}, Case{9, 48, 80}}) {
    SCOPED_TRACE(c.width);
    for (const Adds adds : {Adds::kNothing, Adds::kValue, Adds::kNormalized}) {
      for (const bool keeps : {false, true}) expect_streamed<TypeParam>(c, adds, keeps);
    }
  }
}

TYPED_TEST(ColumnKernels, GiveAChannelTheSameBitsInAColumnOfAnyWidth) {
  // If channels are last, columns have 16 channels, or as many as kernels support.
  constexpr int kChannels = 136;
  const Case whole = {333, kChannels, kChannels};
  const auto src = wave<TypeParam>(whole, 0.1), gradient = wave<TypeParam>(whole, 1.0);
  const std::vector<float> mean(kChannels, 3.0F);
  for (const nn::Kernels* kernels : usable_kernels()) {
    const auto& columns = kernels->on<TypeParam>();
    std::vector<std::vector<double>> found;
    for (const int width : {kChannels, 128, 64, 16}) {
      std::vector<double> all(std::size_t{4} * kChannels);
      for (int first = 0; first < kChannels; first += width) {
        const Column column = {whole.rows, whole.stride, std::min(width, kChannels - first)};
        double* const to = all.data() + first;
        columns.moments(src.data() + first, column, to, to + kChannels);
        columns.gradient_sums(src.data() + first, {gradient.data() + first}, nullptr, column,
                              mean.data() + first, to + 2 * kChannels, to + 3 * kChannels);
      }
      found.push_back(all);
    }
    for (const auto& other : found) EXPECT_EQ(found[0], other);
  }
}

TYPED_TEST(ColumnKernels, PassOnWhatIsNotANumber) {
  // A ReLU or a variance that swallowed NaN would hide a diverged network behind a finite loss.
  const Case c = {5, 16, 16};
  auto src = wave<TypeParam>(c, 0.1);
  src[3] = std::is_same_v<TypeParam, float> ? rounded_to<TypeParam>(std::nan("")) : src[3];
  if constexpr (std::is_same_v<TypeParam, Bf16>) src[3] = Bf16{0x7FC0};
  const std::vector<float> mean(16, 3.0F), scale(16, 2.0F), shift(16, 0.25F);
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<TypeParam> dst(src.size());
    std::vector<nn::PassedBits> passed(5);
    kernels->on<TypeParam>().normalize(src.data(), {mean.data(), scale.data(), shift.data()}, {},
                                       dst.data(), passed.data(), {c.rows, c.stride, c.width}, true,
                                       nn::Stores::kCached);
    EXPECT_TRUE(std::isnan(number(dst[3])));
    EXPECT_FALSE(std::isnan(number(dst[4])));
    std::vector<double> centre(16), squares(16);
    kernels->on<TypeParam>().moments(src.data(), {c.rows, c.stride, c.width}, centre.data(),
                                     squares.data());
    EXPECT_TRUE(std::isnan(squares[3]));
  }
}

TYPED_TEST(ColumnKernels, MeanAndFillRows) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const Case& c : kCases) {
      const auto src = wave<TypeParam>(c, 0.1);
      std::vector<float> mean(channels(c));
      std::vector<TypeParam> filled(src.size());
      const Column column = {c.rows, c.stride, c.width};
      kernels->on<TypeParam>().row_mean(src.data(), column, mean.data());
      kernels->on<TypeParam>().fill_rows(filled.data(), column, mean.data());
      for (int lane = 0; lane < c.width; ++lane) {
        double expected = 0.0;
        for (std::int64_t row = 0; row < c.rows; ++row)
          expected += value(src, c, row, lane) / static_cast<double>(c.rows);
        const float found = mean[static_cast<std::size_t>(lane)];
        EXPECT_NEAR(number(found), expected, 1e-5);
        EXPECT_EQ(value(filled, c, c.rows - 1, lane), number(rounded_to<TypeParam>(number(found))));
      }
    }
  }
}

TYPED_TEST(ColumnKernels, AccumulateAnyCount) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const std::int64_t count : {1, 15, 16, 17, 100}) {
      auto dst = wave<TypeParam>({count, 1, 1}, 0.5), src = wave<TypeParam>({count, 1, 1}, 1.5);
      const auto before = dst;
      kernels->on<TypeParam>().accumulate(dst.data(), src.data(), count);
      for (std::size_t i = 0; i < dst.size(); ++i) {
        EXPECT_EQ(number(dst[i]),
                  number(rounded_to<TypeParam>(number(before[i]) + number(src[i]))));
      }
    }
  }
}

}  // namespace
