// Starts programs whose ranks have the fault library preloaded (fault_shim.cpp). SHIM is its path.
#pragma once

#include <string>

#include "launch.h"

namespace outside {

/// As mpirun(). `fault`: see fault_shim.cpp; "" for none. If `counts` is given, each rank writes
/// its number of moments to a file with this prefix.
inline std::string mpirun_with_faults(int ranks, const std::string& fault,
                                      const std::string& counts = "") {
  // Address sanitizer requires to be the first library, but the shim comes first.
  std::string variables = "env ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 ";
  if (!fault.empty()) variables += "TRAINMARK_TEST_FAULT=" + fault + " ";
  if (!counts.empty()) variables += "TRAINMARK_TEST_COUNTS=" + counts + " ";
  return variables + "timeout 300 " + mpirun(ranks, with_variable("LD_PRELOAD", SHIM));
}

}  // namespace outside
