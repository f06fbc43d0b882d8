// `trainmark check`: judges logs, the runs of a folder, and submissions by the rules of their
// rounds.
// Hides files, terminals and what goes where.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/command/check_options.h"
#include "runner/base/error.h"

namespace analysis::command {

/// Text goes to `out` unless the JSON goes there; which files were written, and what could not be
/// read, to `people`. Returns kSuccess if everything passes: every log, every RCP test, or of a
/// submission its check, which forgives one failing run of a folder. kNonCompliant if something
/// fails; else kData when nothing could be read or a PATH is missing, kUnknownVerdict where
/// the rules of a log's round and benchmark are not known, and kIncomplete when some
/// logs could not be read, `rcp` found no reference points for a folder, or with `runs` a folder
/// has another number of logs. With `runs`, failed runs are forgiven where a group has a window to
/// submit, and kNonCompliant says that one has none. Throws ConfigError for rounds and benchmarks
/// that are not there, for options that do not go together, for faulty overlays, suppressions and
/// reference points, and for output that would overwrite what is read.
base::ExitCode check(const CheckOptions& options, std::ostream& out, std::ostream& people,
                     std::size_t width);

}  // namespace analysis::command
