// The commands of the program with their options, as plain data: what completion and man pages are
// written from. Hides CLI11's application.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace runner {

/// What an option, or an argument without a name, takes. kWord: a number or a form such as
/// KEY=VALUE, of which no shell knows more; kText: a file, or other text.
enum class ValueKind { kNone, kWord, kText };

struct OptionFacts {
  std::vector<std::string> names;  ///< "-h", "--help"; none of an argument without a name
  std::string place;               ///< name of such an argument: "CONFIG"
  ValueKind kind = ValueKind::kNone;
  std::string value;                 ///< how help shows the value: "TEXT", "INT in [1 - 8]"
  std::vector<std::string> choices;  ///< the only values, where there are such
  std::string help;
  std::string fallback;  ///< default, as help shows it
  bool is_required = false;
  bool repeats = false;

  bool is_argument() const { return !place.empty(); }
};

struct CommandFacts {
  std::string name;     ///< of the program itself at the root
  std::string summary;  ///< one sentence
  std::string footer;   ///< an example, or the exit codes
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

CommandFacts command_tree(const CLI::App& app);

}  // namespace runner
