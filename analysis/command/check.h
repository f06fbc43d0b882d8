// `trainmark check`: judges logs, the runs of a folder, and submissions by the rules of their
// rounds.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/command/check_options.h"
#include "runner/base/error.h"

namespace analysis::command {

/// Writes text to `out` unless the JSON goes there. Writes to `messages` the names of written files
/// and what could not be read. Returns the first that applies: kNonCompliant if a log, an RCP test
/// or the check of a submission fails; kData if nothing could be read or a PATH is missing;
/// kUnknownVerdict if the rules of a log's round and benchmark are not known; kIncomplete if some
/// logs could not be read, `rcp` found no reference points for a folder, or `runs` could choose no
/// window in a folder, as with the wrong number of logs; else kSuccess. A submission forgives a
/// failing run of a folder, of unet3d four. With `runs`, failed runs are forgiven, and a group
/// fails only if it has no window to submit. Throws ConfigError for unknown rounds and benchmarks,
/// options that contradict each other, invalid overlays, suppressions and reference points, and
/// output that would overwrite an input.
base::ExitCode check(const CheckOptions& options, std::ostream& out, std::ostream& messages,
                     std::size_t width);

}  // namespace analysis::command
