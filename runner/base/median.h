// The median of figures.
// Hides the order of values.
#pragma once

#include <vector>

namespace base {

/// The middle one, or the mean of the two; NaN of no values.
double median_of(std::vector<double> values);

}  // namespace base
