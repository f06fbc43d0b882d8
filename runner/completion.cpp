// Command-line completion for bash and zsh.
#include "runner/completion.h"

#include <fmt/format.h>

#include <functional>

namespace runner {
namespace {

/// Quotes `text` as one shell word.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// Calls `visit` with each command and its path, the program first. The program's path is ""; its
/// subcommand stage has " stage".
using Visit = std::function<void(const CommandFacts&, const std::string& path)>;
void for_each(const CommandFacts& command, const std::string& path, const Visit& visit) {
  visit(command, path);
  for (const CommandFacts& below : command.commands) {
    for_each(below, path + " " + below.name, visit);
  }
}

std::vector<std::string> names_of(const std::vector<CommandFacts>& commands) {
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) names.push_back(command.name);
  return names;
}

// bash ---------------------------------------------------------------------------------------

constexpr char kBashHead[] = R"(# Completion of {0} in bash, written by `{0} completion bash`.
# shellcheck shell=bash
_{0}_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }}
_{0}_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}}
_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} path='' i
  COMPREPLY=()
  # --option=value is three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $option == '=' && $COMP_CWORD -ge 2 ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
)";

/// The patterns of a `case` branch that lists every path below the program.
std::string bash_paths(const CommandFacts& program) {
  std::vector<std::string> paths;
  for_each(program, "", [&](const CommandFacts&, const std::string& path) {
    if (!path.empty()) paths.push_back(quoted(path));
  });
  return fmt::format("      {})\n        path=\"$path ${{COMP_WORDS[i]}}\" ;;\n",
                     fmt::join(paths, " | \\\n      "));
}

std::string bash_values(const OptionFacts& option, const std::string& program) {
  if (!option.choices.empty()) {
    return fmt::format("_{}_words {}", program, quoted(joined(option.choices)));
  }
  return option.kind == ValueKind::kWord ? ":" : fmt::format("_{}_files", program);
}

/// The `case` branches that complete an option's value.
std::string bash_option_values(const CommandFacts& program) {
  std::string lines;
  for_each(program, "", [&](const CommandFacts& command, const std::string& path) {
    for (const OptionFacts& option : command.options) {
      if (option.kind == ValueKind::kNone || option.is_argument()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(quoted(path + " " + name));
      lines += fmt::format("    {})\n      {}\n      return ;;\n", fmt::join(patterns, " | "),
                           bash_values(option, program.name));
    }
  });
  return lines;
}

/// Completes option names after a dash, else commands, choices or files.
std::string bash_words(const CommandFacts& program) {
  std::string lines;
  for_each(program, "", [&](const CommandFacts& command, const std::string& path) {
    std::vector<std::string> options, words = names_of(command.commands);
    bool takes_files = false;
    for (const OptionFacts& option : command.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (!option.is_argument()) continue;
      words.insert(words.end(), option.choices.begin(), option.choices.end());
      takes_files = takes_files || (option.choices.empty() && option.kind == ValueKind::kText);
    }
    lines += fmt::format("    {})\n      if [[ $current == -* ]]; then\n        _{}_words {}\n",
                         quoted(path), program.name, quoted(joined(options)));
    if (!words.empty()) {
      lines +=
          fmt::format("      else\n        _{}_words {}\n", program.name, quoted(joined(words)));
    } else if (takes_files) {
      lines += fmt::format("      else\n        _{}_files\n", program.name);
    }
    lines += "      fi ;;\n";
  });
  return lines;
}

// zsh ----------------------------------------------------------------------------------------

/// Escapes the characters special to _arguments: brackets, colons, backslashes.
std::string zsh_text(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') plain += '\\';
    plain += c;
  }
  return plain;
}

/// The action that completes a value: ":value:(a b)", ":value:_files", or ":value: " for a word.
std::string zsh_value(const OptionFacts& option, const std::string& name) {
  if (!option.choices.empty()) {
    return fmt::format(":{}:({})", zsh_text(name), joined(option.choices));
  }
  return fmt::format(":{}:{}", zsh_text(name), option.kind == ValueKind::kWord ? " " : "_files");
}

/// The _arguments specifications of an option, one for each of its names.
std::vector<std::string> zsh_specifications(const OptionFacts& option) {
  if (option.is_argument()) {
    return {quoted((option.repeats ? "*" : "") + zsh_value(option, option.place))};
  }
  std::vector<std::string> specifications;
  for (const std::string& name : option.names) {
    const bool has_value = option.kind != ValueKind::kNone;
    specifications.push_back(
        quoted(fmt::format("{}{}{}[{}]{}", option.repeats ? "*" : "", name,
                           has_value && name.starts_with("--") ? "=" : "", zsh_text(option.help),
                           has_value ? zsh_value(option, option.value) : "")));
  }
  return specifications;
}

std::string zsh_name(const CommandFacts& program, const std::string& path) {
  std::string name = "_" + program.name;
  for (const char c : path) name += c == ' ' ? '_' : c;
  return name;
}

std::string zsh_function(const CommandFacts& program, const CommandFacts& command,
                         const std::string& path) {
  const std::string name = zsh_name(program, path);
  const bool is_parent = !command.commands.empty();
  std::string text = name + "() {\n";
  if (is_parent) text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
  text += is_parent ? "  _arguments -C" : "  _arguments";
  for (const OptionFacts& option : command.options) {
    for (const std::string& one : zsh_specifications(option)) text += " \\\n    " + one;
  }
  if (is_parent) {
    text += " \\\n    '1: :->command' \\\n    '*:: :->below'\n  case $state in\n    command)\n";
    text += "      local -a commands\n      commands=(";
    for (const CommandFacts& below : command.commands) {
      text += "\n        " + quoted(zsh_text(below.name) + ":" + below.summary);
    }
    text += ")\n      _describe command commands ;;\n    below)\n      case $line[1] in\n";
    for (const CommandFacts& below : command.commands) {
      text += fmt::format("        {}) {} ;;\n", below.name,
                          zsh_name(program, path + " " + below.name));
    }
    text += "      esac ;;\n  esac";
  }
  return text + "\n}\n";
}

}  // namespace

std::string bash_completion(const CommandFacts& program) {
  std::string text = fmt::format(kBashHead, program.name);
  text += bash_paths(program);
  text += "    esac\n  done\n  case \"$path $option\" in\n";
  text += bash_option_values(program);
  text += "  esac\n  case \"$path\" in\n";
  text += bash_words(program);
  return text + fmt::format("  esac\n}}\ncomplete -F _{0} {0}\n", program.name);
}

std::string zsh_completion(const CommandFacts& program) {
  std::string text = fmt::format(
      "#compdef {0}\n# Completion of {0} in zsh, written by `{0} "
      "completion zsh`.\n",
      program.name);
  for_each(program, "", [&](const CommandFacts& command, const std::string& path) {
    text += zsh_function(program, command, path);
  });
  return text + fmt::format("_{} \"$@\"\n", program.name);
}

}  // namespace runner
