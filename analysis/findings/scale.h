// Scales of axes: positions of values, and tick marks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace analysis {

/// Whether a scale can hold the value: finite, and so small that sums of a few do not overflow.
bool is_drawable(double value);

class Scale {
 public:
  /// A logarithmic scale holds positive numbers and marks powers of two, as most batch sizes are
  /// powers of two.
  enum class Kind { kLinear, kLogarithmic };
  struct Tick {
    double value = 0.0;
    std::string text;
  };

  /// A scale over all values, with a margin on both sides; from 1 to 2 without values. REQUIRES:
  /// the values are drawable, and positive on a logarithmic scale.
  static Scale around(Kind kind, std::span<const double> values);

  /// 0 at low(), 1 at high().
  double at(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  /// At most `most` tick marks within the scale, rising; at least one if a mark lies within the
  /// scale.
  std::vector<Tick> ticks(std::size_t most) const;

 private:
  Scale(Kind kind, double low, double high) : kind_(kind), low_(low), high_(high) {}
  Kind kind_;
  double low_, high_;
};

}  // namespace analysis
