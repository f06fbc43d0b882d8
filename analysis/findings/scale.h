// Numbers along an axis, on paper and on terminals.
// Hides logarithms and the choice of marks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace analysis {

/// Whether a scale can hold the value: not so large that sums of a few overflow.
bool is_drawable(double value);

class Scale {
 public:
  /// A logarithmic scale holds positive numbers and marks powers of two, as batch sizes are.
  enum class Kind { kLinear, kLogarithmic };
  struct Tick {
    double value = 0.0;
    std::string text;
  };

  /// Holds all values, which are drawable (and positive where it is logarithmic), and some room on
  /// both sides; from 1 to 2 where there are none.
  static Scale around(Kind kind, std::span<const double> values);

  /// 0 at low(), 1 at high().
  double at(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  /// Between the ends, rising; at most `most`, and at least one where the scale has room for a
  /// mark.
  std::vector<Tick> ticks(std::size_t most) const;

 private:
  Scale(Kind kind, double low, double high) : kind_(kind), low_(low), high_(high) {}
  Kind kind_;
  double low_, high_;
};

}  // namespace analysis
