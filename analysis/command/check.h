// `trainmark check`: judges logs, the runs of a folder, and submissions by the rules of their
// rounds.
// Hides files, terminals and what goes where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace analysis::command {

struct CheckOptions {
  std::vector<std::string> paths;
  std::string usage, round;           ///< "" where each log decides
  std::vector<std::string> overlays;  ///< rules over the embedded ones: files or folders
  std::string rules;                  ///< list the rules of this benchmark instead
  bool rounds = false;                ///< list the rounds instead
  std::string rcps;                   ///< list the reference points of this benchmark instead
  std::optional<double> bootstrap;    ///< with `rcps`: batch size whose runs are drawn from
  std::optional<std::uint64_t> seed;  ///< of those draws; absent: 0
  std::string explain;                ///< print what this rule means instead; "all": a list
  bool werror = false;

  std::optional<std::int64_t> runs;  ///< M, the runs in each folder
  bool submission = false;           ///< the one path is a submission
  bool rcp = false;                  ///< test each folder's runs against reference points
  std::string rcp_era;               ///< name of an era; "": the newest
  std::string rcp_points;            ///< "pruned", "all"; "": pruned
  std::string custom_rcps;           ///< file of points instead of the embedded ones
  bool rcp_bypass = false;           ///< a failed RCP test passes all the same
  bool seed_checker_bypass = false;
  bool write_scaling = false;  ///< make scaling.json where the RCP test gives a factor

  std::string suppress;      ///< file of suppressions; "": none
  std::string json;          ///< a file, or "-": standard output, and nothing else there
  std::string sarif, junit;  ///< files
  std::string plot;          ///< reference points as SVG into this file, or "-": as characters
  bool quiet = false;        ///< of passing logs, only their number
  bool fix_hints = false;    ///< what to do about the first finding of each rule
  int threads = 0;           ///< logs judged at the same time; 0: one on each CPU
  std::istream* standard_input = nullptr;  ///< what the path "-" means
};

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
