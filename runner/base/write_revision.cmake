# Writes the git revision of SOURCE into the header OUTPUT, only if it differs: run at every build, so that nothing is
# compiled again for nothing. Hides what git is asked; "unknown" where there is no git or no checkout.
set(revision unknown)
find_program(GIT git)
# A release unpacked inside another checkout must not take that one's revision.
if(GIT AND EXISTS ${SOURCE}/.git)
  # The owner may be another user (sudo, containers), and the index may be in use by somebody else.
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
