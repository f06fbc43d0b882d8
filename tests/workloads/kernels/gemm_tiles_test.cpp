// Products of windows in AMX tiles, against plain sums in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/kernels/activation_numbers.h"
#include "workloads/kernels/aligned.h"
#include "workloads/kernels/gemm_trial.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using gemm::kLanes;
using gemm::kTile;
using nn::Bf16;
using nn::TileGemm;
using namespace activations;

constexpr std::int64_t kRows = TileGemm::kRows;
constexpr float kInitialOutput = -77.0F;

const TileGemm& tile_gemm() { return tile_kernels().tile_gemm; }

/// Windows of `lines` image rows of `numbers` elements, `step` elements apart, times weights of
/// `channels` channels.
struct WindowCase {
  std::int64_t lines, numbers, step, channels, points;
};

class Windows {
 public:
  explicit Windows(const WindowCase& of)
      : of_(of),
        line_((of.points - 1) * of.step + of.numbers),
        met_(wave<Bf16>((kImageRows + of.lines - 1) * line_, 0.3)),
        weights_(wave<Bf16>(of.lines * of.numbers * of.channels, 0.7)) {}

  void expect_products(nn::Stores stores, std::int64_t apart) const {
    const std::int64_t step = of_.channels, row = of_.points * step;
    // With values after the rows that must not be overwritten.
    const nn::AlignedFloats memory(kImageRows * row);
    auto* const begin = reinterpret_cast<Bf16*>(memory.data());
    std::fill_n(begin, 2 * memory.count(), activations::of<Bf16>(kInitialOutput));
    TileGemm::Windows windows;
    windows.line_step = windows.row_step = line_;
    windows.point_step = of_.step;
    windows.lines = of_.lines;
    windows.parts = of_.numbers / kRows;
    windows.has_half = of_.numbers % kRows != 0;
    windows.channels = of_.channels;
    windows.part_words = of_.channels / kLanes * kTile;
    windows.panel_words = kTile;
    windows.stores = stores;
    const std::vector<std::uint32_t> packed = packed_weights();
    Bf16* const dst = begin + apart;
    tile_gemm().multiply_windows(met_.data(), packed.data(), windows, kImageRows, of_.points, dst);
    for (std::int64_t i = -apart; i < 2 * memory.count() - apart; ++i) {
      const std::int64_t y = i / row, place = i % row;
      const bool is_written = i >= 0 && y < kImageRows;
      const double expected = is_written ? product(y, place / step, place % step) : kInitialOutput;
      ASSERT_NEAR(number(dst[i]), expected, kRounding<Bf16> * std::abs(expected) + 1e-5) << i;
    }
  }

 private:
  static constexpr std::int64_t kImageRows = 2;
  double product(std::int64_t y, std::int64_t x, std::int64_t channel) const {
    double sum = 0.0;
    for (std::int64_t line = 0; line < of_.lines; ++line) {
      for (std::int64_t i = 0; i < of_.numbers; ++i) {
        sum += number(met_[static_cast<std::size_t>((y + line) * line_ + x * of_.step + i)]) *
               number(weight(line, i, channel));
      }
    }
    return sum;
  }
  Bf16 weight(std::int64_t line, std::int64_t i, std::int64_t channel) const {
    return weights_[static_cast<std::size_t>((line * of_.numbers + i) * of_.channels + channel)];
  }
  /// [lines][parts][channels / 16][16 pairs of elements][16][2]; the unused half of a half step is
  /// filled with NaN.
  std::vector<std::uint32_t> packed_weights() const {
    const std::int64_t parts = base::ceil_div(of_.numbers, kRows);
    std::vector<std::uint32_t> packed;
    for (std::int64_t line = 0; line < of_.lines; ++line) {
      for (std::int64_t part = 0; part < parts; ++part) {
        for (std::int64_t panel = 0; panel < of_.channels; panel += kLanes) {
          for (std::int64_t i = part * kRows; i < (part + 1) * kRows; i += 2) {
            for (std::int64_t lane = 0; lane < kLanes; ++lane) {
              packed.push_back(i < of_.numbers ? pair(line, i, panel + lane) : 0xFFFFFFFF);
            }
          }
        }
      }
    }
    return packed;
  }
  std::uint32_t pair(std::int64_t line, std::int64_t i, std::int64_t channel) const {
    return weight(line, i, channel).bits | std::uint32_t{weight(line, i + 1, channel).bits} << 16;
  }

  const WindowCase of_;
  const std::int64_t line_;  ///< elements of an image row that windows read
  const std::vector<Bf16> met_, weights_;
};

TEST(TileWindows, AreThePlainSums) {
  const WindowCase cases[] = {{1, 32, 32, 64, 16},   // single pixels
                              {1, 64, 64, 32, 37},   // a partial tile; half a group of panels
                              {1, 96, 192, 16, 5},   // with a stride; few pixels
                              {1, 48, 48, 48, 20},   // half a step; three panels
                              {1, 32, 32, 48, 22},   // the last pixels begin at a cache line
                              {1, 32, 32, 16, 34},   // the same with one panel
                              {1, 32, 32, 16, 33},   // they begin inside one
                              {1, 16, 16, 160, 33},  // only half a step; several groups of panels
                              {7, 32, 6, 64, 18},    // windows that share elements
                              {3, 48, 32, 32, 40},   // the same with one step and a half
                              {1, 48, 48, 32, 7}};
  for (const WindowCase& c : cases) {
    SCOPED_TRACE(testing::Message() << c.lines << " lines of " << c.numbers << " numbers, "
                                    << c.channels << " channels, " << c.points << " points");
    const Windows windows(c);
    for (const nn::Stores stores : {nn::Stores::kCached, nn::Stores::kStreamed}) {
      for (const std::int64_t apart : {0, 4}) {
        windows.expect_products(stores, apart);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
