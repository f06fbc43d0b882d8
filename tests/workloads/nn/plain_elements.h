// Elements of the twin's arrays, and its arrays of parameters, by number.
#pragma once

#include "workloads/nn/plain_network.h"

namespace plain {

inline double& at(Array& array, std::int64_t i) { return array[static_cast<std::size_t>(i)]; }
inline double at(const Array& array, std::int64_t i) { return array[static_cast<std::size_t>(i)]; }

inline const Array& parameter(const std::vector<Array>& all, int id) {
  return all[static_cast<std::size_t>(id)];
}

}  // namespace plain
