// What `trainmark check` is asked to judge or to list.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace analysis::command
