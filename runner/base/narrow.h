// Checked conversion between integer types.
#pragma once

#include <utility>

#include "runner/base/error.h"

namespace base {

/// `value` as a To; throws Error(kInternal) when To cannot hold it.
template <class To, class From>
To narrow(From value) {
  if (!std::in_range<To>(value)) {
    throw Error(ExitCode::kInternal, "narrow: " + std::to_string(value) + " does not fit");
  }
  return static_cast<To>(value);
}

}  // namespace base
