// The median.
#pragma once

#include <vector>

namespace base {

/// The middle value, or the mean of the two middle values; NaN if `values` is empty.
double median_of(std::vector<double> values);

}  // namespace base
