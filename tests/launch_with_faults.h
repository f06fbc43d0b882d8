// Starts programs whose ranks have the library of faults preloaded (fault_shim.cpp).
// Hides the variables that tell it what to do. SHIM is the library's path.
#pragma once

#include <string>

#include "launch.h"

namespace outside {

/// As mpirun(). `fault` is what happens, "" for nothing; files named after `counts`, if any, tell
/// how many moments each rank had.
inline std::string mpirun_with_faults(int ranks, const std::string& fault,
                                      const std::string& counts = "") {
  // Address sanitizer wants to be the first library; the shim comes first.
  std::string variables = "env ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 ";
  if (!fault.empty()) variables += "TRAINMARK_TEST_FAULT=" + fault + " ";
  if (!counts.empty()) variables += "TRAINMARK_TEST_COUNTS=" + counts + " ";
  return variables + "timeout 300 " + mpirun(ranks, "-x LD_PRELOAD=" SHIM);
}

}  // namespace outside
