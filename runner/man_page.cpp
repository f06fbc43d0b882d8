// Man pages in roff.
#include "runner/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace runner {
namespace {

/// Escapes text so that roff sees no requests, and minus signs can be copied.
std::string escaped(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (c == '\\') {
      plain += "\\e";
    } else if (c == '-') {
      plain += "\\-";
    } else {
      if (plain.empty() && (c == '.' || c == '\'')) plain += "\\&";
      plain += c;
    }
  }
  return plain;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Lines without filling.
std::string verbatim(const std::string& text) {
  std::string lines = ".nf\n";
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines += escaped(line) + "\n";
  return lines + ".fi\n";
}

std::string head(const std::string& page, const std::string& version) {
  return fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n", escaped(upper(page)),
                     escaped(version));
}

/// "a", "a and b", "a, b and c".
std::string value_text(const OptionFacts& option) {
  if (option.kind == ValueKind::kNone) return "";
  return "\\fI" +
         escaped(option.choices.empty() ? option.value
                                        : fmt::format("{}", fmt::join(option.choices, "|"))) +
         "\\fR";
}

std::string tag(const OptionFacts& option) {
  if (option.is_argument()) return "\\fI" + escaped(option.place) + "\\fR";
  std::string text;
  for (const std::string& name : option.names) {
    text += (text.empty() ? "" : ", ") + ("\\fB" + escaped(name) + "\\fR");
  }
  const std::string value = value_text(option);
  return value.empty() ? text : text + " " + value;
}

std::string described(const OptionFacts& option) {
  std::string text = ".TP\n" + tag(option) + "\n" + escaped(option.help);
  if (option.is_argument() && !option.choices.empty()) text += ": " + value_text(option);
  if (option.is_required) text += " (required)";
  if (!option.fallback.empty()) text += " (default: " + escaped(option.fallback) + ")";
  return text + "\n";
}

std::string described(const std::vector<OptionFacts>& options, bool arguments) {
  std::string text;
  for (const OptionFacts& option : options) {
    if (option.is_argument() == arguments) text += described(option);
  }
  return text;
}

/// The part of the synopsis after the command's name.
std::string synopsis(const CommandFacts& command) {
  std::string text = " [\\fIOPTION\\fR]...";
  if (!command.commands.empty()) return text + " \\fICOMMAND\\fR ...";
  for (const OptionFacts& option : command.options) {
    if (!option.is_argument()) continue;
    const std::string one = "\\fI" + escaped(option.place) + "\\fR" + (option.repeats ? "..." : "");
    text += option.is_required ? " " + one : " [" + one + "]";
  }
  return text;
}

std::string section(const char* title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

/// The example without its heading "Example:".
std::string example_in(const std::string& footer) {
  const std::size_t line = footer.find('\n');
  return footer.starts_with("Example:") && line != std::string::npos ? footer.substr(line + 1)
                                                                     : footer;
}

/// Descriptions of the subcommands, such as the workloads of `generate`.
std::string below(const CommandFacts& command, const std::string& path) {
  std::string text;
  for (const CommandFacts& one : command.commands) {
    text += fmt::format(".SS \\fB{} {}\\fR{}\n{}\n", escaped(path), escaped(one.name),
                        synopsis(one), escaped(one.summary));
    text += described(one.options, true) + described(one.options, false);
    text += below(one, path + " " + one.name);
  }
  return text;
}

ManPage page_of(const CommandFacts& command, const std::string& program,
                const std::string& version) {
  const std::string page = program + "-" + command.name, line = program + " " + command.name;
  std::string text = head(page, version);
  text += section("NAME", fmt::format("{} \\- {}\n", escaped(page), escaped(command.summary)));
  text += section("SYNOPSIS", fmt::format("\\fB{}\\fR{}\n", escaped(line), synopsis(command)));
  text += section("ARGUMENTS", described(command.options, true));
  text += section("OPTIONS", described(command.options, false));
  text += section("COMMANDS", below(command, line));
  text += section("EXAMPLES", command.footer.empty() ? "" : verbatim(example_in(command.footer)));
  text += section("EXIT STATUS", fmt::format("Those of \\fB{}\\fR(1).\n", escaped(program)));
  text += section("SEE ALSO", fmt::format("\\fB{}\\fR(1)\n", escaped(program)));
  return {page + ".1", text};
}

ManPage page_of(const CommandFacts& program, const std::string& version) {
  std::string commands, see;
  for (const CommandFacts& command : program.commands) {
    commands +=
        fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(command.name), escaped(command.summary));
    see += fmt::format("{}\\fB{}\\-{}\\fR(1)", see.empty() ? "" : ",\n", escaped(program.name),
                       escaped(command.name));
  }
  std::string text = head(program.name, version);
  text += section("NAME", fmt::format("{} \\- train MLPerf workloads on CPU clusters and analyze "
                                      "their logs\n",
                                      escaped(program.name)));
  text +=
      section("SYNOPSIS", fmt::format("\\fB{}\\fR{}\n", escaped(program.name), synopsis(program)));
  text += section("DESCRIPTION", escaped(program.summary) + "\n");
  text += section("COMMANDS", commands);
  text += section("OPTIONS", described(program.options, false));
  text += section("EXIT STATUS", program.footer.empty() ? "" : verbatim(program.footer));
  text += section("SEE ALSO", see.empty() ? "" : see + "\n");
  return {program.name + ".1", text};
}

}  // namespace

std::vector<ManPage> man_pages(const CommandFacts& program, const std::string& version) {
  std::vector<ManPage> pages = {page_of(program, version)};
  for (const CommandFacts& command : program.commands) {
    pages.push_back(page_of(command, program.name, version));
  }
  return pages;
}

}  // namespace runner
