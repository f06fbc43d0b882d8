// The program's commands and options as plain data, from which completion and man pages are
// written. Hides CLI11's application.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace runner {

/// The kind of value that an option or a positional argument takes. kWord: a number or a form such
/// as KEY=VALUE that a shell cannot complete. kText: a file, or other text.
enum class ValueKind { kNone, kWord, kText };

struct OptionFacts {
  std::vector<std::string> names;  ///< "-h", "--help"; empty for a positional argument
  std::string place;               ///< name of a positional argument: "CONFIG"
  ValueKind kind = ValueKind::kNone;
  std::string value;                 ///< how help shows the value: "TEXT", "INT in [1 - 8]"
  std::vector<std::string> choices;  ///< the only allowed values; empty: not limited to a list
  std::string help;
  std::string fallback;  ///< default, as help shows it
  bool is_required = false;
  bool repeats = false;

  bool is_argument() const { return !place.empty(); }
};

struct CommandFacts {
  std::string name;     ///< at the root: the program's name
  std::string summary;  ///< one sentence
  std::string footer;   ///< an example, or the exit codes
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

CommandFacts command_tree(const CLI::App& app);

}  // namespace runner
