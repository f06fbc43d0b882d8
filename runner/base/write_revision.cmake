# Writes the git revision of SOURCE into the header OUTPUT, but only if it differs: this runs at
# every build and must not cause recompilation. The revision is "unknown" without git or outside of
# a checkout.
set(revision unknown)
find_program(GIT git)
# A release unpacked inside another checkout must not take that checkout's revision.
if(GIT AND EXISTS ${SOURCE}/.git)
  # The owner may be another user (sudo, containers), and another process may be using the index.
  set(git ${GIT} --no-optional-locks -c safe.directory=${SOURCE} -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(revision ${head})
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
    if(failed OR changes)
      string(APPEND revision -dirty)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
// The revision of this build. Generated.
#pragma once

namespace base {
inline constexpr char kRevision[] = "@revision@";
}  // namespace base
]] @ONLY)
