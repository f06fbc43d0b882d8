// Starts programs whose ranks have the fault library preloaded (fault_shim.cpp). SHIM is its path.
#pragma once

#include <string>

#include "launch.h"

namespace outside {

/// Variables for a launcher whose ranks have the fault library preloaded.
inline std::string fault_variables() {
  // Address sanitizer requires to be the first library, but the shim comes first.
  return "env ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 ";
}

/// As mpirun(). Reading `file` never returns, as on a hanging file system.
inline std::string mpirun_with_stuck_file(int ranks, const std::string& file) {
  return fault_variables() + "TRAINMARK_TEST_STUCK=" + file + " " +
         mpirun(ranks, with_variable("LD_PRELOAD", SHIM));
}

/// As mpirun(). The first read of `file` creates `folder`/reached, and goes on
/// when there is `folder`/go.
inline std::string mpirun_with_pause(int ranks, const std::string& file,
                                     const std::string& folder) {
  const std::string variables = fault_variables() + "TRAINMARK_TEST_PAUSE=" + file + ":" + folder;
  return variables + " " + mpirun(ranks, with_variable("LD_PRELOAD", SHIM));
}

/// As mpirun(). `failing` calls fail on one rank: see TRAINMARK_TEST_ERRNO in failing_calls.h.
inline std::string mpirun_with_failing_call(int ranks, const std::string& failing) {
  return fault_variables() + "TRAINMARK_TEST_ERRNO=" + failing + " timeout 300 " +
         mpirun(ranks, with_variable("LD_PRELOAD", SHIM));
}

/// As mpirun(). `fault`: see fault_shim.cpp; "" for none. If `counts` is given, each rank writes
/// its number of moments to a file with this prefix.
inline std::string mpirun_with_faults(int ranks, const std::string& fault,
                                      const std::string& counts = "") {
  std::string variables = fault_variables();
  if (!fault.empty()) variables += "TRAINMARK_TEST_FAULT=" + fault + " ";
  if (!counts.empty()) variables += "TRAINMARK_TEST_COUNTS=" + counts + " ";
  return variables + "timeout 300 " + mpirun(ranks, with_variable("LD_PRELOAD", SHIM));
}

}  // namespace outside
