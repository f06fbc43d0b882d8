// Options of `trainmark check`.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace analysis::command {

struct CheckOptions {
  std::vector<std::string> paths;
  std::string usage, round;           ///< "": chosen for each log
  std::vector<std::string> overlays;  ///< files or folders of rules that add to the embedded ones
  std::string rules;                  ///< list the rules of this benchmark instead
  bool rounds = false;                ///< list the rounds instead
  std::string rcps;                   ///< list the reference points of this benchmark instead
  std::optional<double> bootstrap;    ///< with `rcps`: draw from the runs at this batch size
  std::optional<std::uint64_t> seed;  ///< of the bootstrap draws; absent: 0
  std::string explain;                ///< explain this rule instead; "all": list the rules
  bool werror = false;

  std::optional<std::int64_t> runs;  ///< M, the number of runs in each folder
  bool submission = false;           ///< the one path is a submission
  bool rcp = false;                  ///< test each folder's runs against reference points
  std::string rcp_era;               ///< name of an era; "": the newest
  std::string rcp_points;            ///< "pruned", "all"; "": pruned
  std::string custom_rcps;           ///< file of points instead of the embedded ones
  bool rcp_bypass = false;           ///< let a failed RCP test pass
  bool seed_checker_bypass = false;
  bool write_scaling = false;  ///< write scaling.json if the RCP test gives a factor

  std::string suppress;      ///< file of suppressions; "": none
  std::string json;          ///< a file, or "-": standard output, which then gets no text
  std::string sarif, junit;  ///< files
  std::string plot;          ///< SVG file for the plot, or "-": as characters on standard output
  bool quiet = false;        ///< report only the number of passing logs
  bool fix_hints = false;    ///< give advice on the first finding of each rule
  int threads = 0;           ///< logs judged concurrently; 0: one per CPU
  std::istream* standard_input = nullptr;  ///< read for the path "-"
};

}  // namespace analysis::command
