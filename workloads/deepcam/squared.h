// The square of a number.
#pragma once

namespace deepcam {

inline double squared(double value) { return value * value; }

}  // namespace deepcam
