// Reads the commands and options from CLI11, which gives types of values as text:
// "TEXT:{open,closed}".
#include "runner/command_tree.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace runner {
namespace {

/// The type that CLI11 puts before a colon and a check's description: "INT:INT in [1 - 8]" gives
/// "INT".
std::string type_of_value(const std::string& type) {
  for (const char* name : {"TEXT", "INT", "UINT", "FLOAT", "NUMBER", "BOOLEAN"}) {
    if (type == name || type.starts_with(name + std::string(":"))) return name;
  }
  return "";
}

ValueKind kind_of(const std::string& type) {
  if (type.empty()) return ValueKind::kNone;
  const std::string of_value = type_of_value(type);
  const bool has_form = of_value.empty() && type.find_first_of("=:") != std::string::npos;
  return has_form || (!of_value.empty() && of_value != "TEXT") ? ValueKind::kWord
                                                               : ValueKind::kText;
}

/// The list between braces; empty if there are no braces.
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::vector<std::string> choices;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
  return choices;
}

/// "INT:INT in [1 - 8]" -> "INT in [1 - 8]", "TEXT:{a,b}" -> "{a,b}"; "FIRST:LAST" stays.
std::string shown(const std::string& type) {
  const std::string of_value = type_of_value(type);
  return of_value.empty() || of_value == type ? type : type.substr(of_value.size() + 1);
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (facts.names.empty()) facts.place = option.get_name(true);
  const bool is_flag = option.get_items_expected_max() == 0;
  const std::string type = is_flag ? "" : option.get_type_name();
  facts.kind = kind_of(type);
  facts.value = shown(type);
  facts.choices = choices_in(type);
  facts.help = option.get_description();
  facts.fallback = option.get_default_str();
  facts.is_required = option.get_required();
  facts.repeats = option.get_items_expected_max() > 1;
  return facts;
}

}  // namespace

CommandFacts command_tree(const CLI::App& app) {
  CommandFacts facts;
  facts.name = app.get_name();
  facts.summary = app.get_description();
  facts.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) facts.options.push_back(facts_of(*option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    facts.commands.push_back(command_tree(*command));
  }
  return facts;
}

}  // namespace runner
