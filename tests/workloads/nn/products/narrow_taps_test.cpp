// Compares NarrowTaps, sums and gradients, with loops over all pixels and taps.
#include "workloads/nn/products/narrow_taps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workloads/kernels/activation_numbers.h"

namespace {

struct TapsCase {
  std::int64_t channels, kernel, stride, begin, end, rows, columns;
};

/// Square kernel and stride; the same padding above as on the left, and below as on the right.
class Taps {
 public:
  explicit Taps(const TapsCase& of) : of_(of), taps_(operation(), {16, {of.rows, of.columns}}) {}
  std::int64_t height() const { return length(of_.rows); }
  std::int64_t width() const { return length(of_.columns); }
  std::int64_t outputs() const { return of_.channels * of_.kernel * of_.kernel; }
  std::int64_t points() const { return of_.rows * of_.columns; }
  const nn::NarrowTaps& taps() const { return taps_; }

  /// Calls run(output, row, column, index in the destination, or -1 outside it).
  template <class Run>
  void for_each(const Run& run) const {
    for (std::int64_t i = 0; i < outputs(); ++i) {
      const std::int64_t tap_row = i / of_.kernel % of_.kernel, tap_column = i % of_.kernel;
      const std::int64_t channel = i / of_.kernel / of_.kernel;
      for (std::int64_t point = 0; point < points(); ++point) {
        const std::int64_t row = point / of_.columns, column = point % of_.columns;
        const std::int64_t y = row * of_.stride + tap_row - of_.begin;
        const std::int64_t x = column * of_.stride + tap_column - of_.begin;
        const bool is_there = y >= 0 && y < height() && x >= 0 && x < width();
        run(i, row, column, is_there ? (channel * height() + y) * width() + x : -1);
      }
    }
  }

 private:
  std::int64_t length(std::int64_t of) const {
    return (of - 1) * of_.stride + of_.kernel - of_.begin - of_.end;
  }
  nn::Operation operation() const {
    nn::Operation operation;
    operation.kernel = {of_.kernel, of_.kernel};
    operation.stride = {of_.stride, of_.stride};
    operation.padding = {{of_.begin, of_.begin}, {of_.end, of_.end}};
    operation.dst = {of_.channels, {height(), width()}};
    return operation;
  }
  const TapsCase of_;
  const nn::NarrowTaps taps_;
};

const std::vector<TapsCase>& cases() {
  // As in DeepCAM; without padding; wide kernels; strides that skip columns; one channel; rows
  // longer than what is summed at a time.
  static const std::vector<TapsCase> all = {{3, 3, 2, 1, 0, 5, 7}, {2, 2, 2, 0, 0, 3, 4},
                                            {1, 4, 2, 1, 1, 4, 5}, {2, 3, 1, 1, 1, 4, 6},
                                            {2, 1, 3, 0, 0, 3, 3}, {1, 2, 5, 0, 1, 2, 3},
                                            {1, 5, 2, 3, 2, 3, 4}, {1, 3, 1, 1, 1, 2, 1100}};
  return all;
}

/// Either a plane for each product, or all products of a pixel next to each other.
nn::ChannelLayout layout_of(const Taps& of, bool in_planes) {
  nn::ChannelLayout layout;
  layout.width = in_planes ? 1 : static_cast<int>(of.outputs());
  layout.block_stride = of.points();
  layout.row_stride = in_planes ? 1 : of.outputs();
  return layout;
}

TEST(NarrowTaps, AddProductsWhereTheyMeet) {
  for (const TapsCase& of : cases()) {
    const Taps all(of);
    for (const bool in_planes : {true, false}) {
      SCOPED_TRACE(std::to_string(of.kernel) + " by " + std::to_string(of.stride) +
                   (in_planes ? " in planes" : " in points"));
      const nn::ChannelLayout layout = layout_of(all, in_planes);
      const std::vector<float> products =
          activations::wave<float>(all.outputs() * all.points(), 0.3);
      const auto size = static_cast<std::size_t>(of.channels * all.height() * all.width());
      std::vector<double> wanted(size, 0.0);
      all.for_each([&](std::int64_t i, std::int64_t row, std::int64_t column, std::int64_t to) {
        const std::int64_t point = row * of.columns + column;
        const std::int64_t at = in_planes ? i * all.points() + point : point * all.outputs() + i;
        if (to < 0) return;
        wanted[static_cast<std::size_t>(to)] +=
            static_cast<double>(products[static_cast<std::size_t>(at)]);
      });
      std::vector<float> found(static_cast<std::size_t>(all.width()));
      for (std::int64_t y = 0; y < all.height(); ++y) {
        // Products begin with the first source row that is added to this row.
        const nn::NarrowTaps::Rows met = all.taps().sources_of({y, y + 1});
        const float* const first = products.data() + met.begin * of.columns * layout.row_stride;
        for (std::int64_t channel = 0; channel < of.channels; ++channel) {
          all.taps().add(y, channel, first, met.begin, layout, found.data());
          for (std::int64_t x = 0; x < all.width(); ++x) {
            const std::int64_t at = (channel * all.height() + y) * all.width() + x;
            ASSERT_NEAR(static_cast<double>(found[static_cast<std::size_t>(x)]),
                        wanted[static_cast<std::size_t>(at)], 1e-5)
                << "channel " << channel << ", row " << y << ", column " << x;
          }
        }
      }
    }
  }
}

TEST(NarrowTaps, FindTheRowsThatMeet) {
  const Taps of({3, 3, 2, 1, 0, 5, 7});
  ASSERT_EQ(of.height(), 10);
  const auto expect = [&](std::int64_t begin, std::int64_t end, std::int64_t first,
                          std::int64_t last) {
    const nn::NarrowTaps::Rows met = of.taps().sources_of({begin, end});
    EXPECT_EQ(met.begin, first);
    EXPECT_EQ(met.end, last + 1);
  };
  expect(0, 1, 0, 0);
  expect(1, 2, 0, 1);
  expect(0, 8, 0, 4);
  expect(9, 10, 4, 4);
  // Rows that the stride skips have no source rows.
  const nn::NarrowTaps::Rows none = Taps({1, 1, 3, 0, 0, 3, 3}).taps().sources_of({1, 3});
  EXPECT_EQ(none.begin, none.end);
}

TEST(NarrowTaps, FindTheirGradients) {
  for (const TapsCase& of : cases()) {
    SCOPED_TRACE(std::to_string(of.kernel) + " by " + std::to_string(of.stride));
    const Taps all(of);
    const std::vector<float> diff_dst =
        activations::wave<float>(of.channels * all.height() * all.width(), 0.7);
    // The previous contents of `scratch` must not matter.
    std::vector<float> scratch(static_cast<std::size_t>(all.taps().scratch_numbers()), -5.0F);
    std::vector<const float*> rows(static_cast<std::size_t>(all.outputs()));
    for (std::int64_t source = 0; source < of.rows; ++source) {
      all.taps().gradients_of(source, diff_dst.data(), scratch.data(), rows.data());
      all.for_each([&](std::int64_t i, std::int64_t row, std::int64_t column, std::int64_t at) {
        if (row != source) return;
        ASSERT_EQ(rows[static_cast<std::size_t>(i)][column],
                  at < 0 ? 0.0F : diff_dst[static_cast<std::size_t>(at)])
            << "product " << i << ", row " << row << ", column " << column;
      });
    }
  }
}

}  // namespace
