// completion and man.
#include "runner/shell_commands.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "runner/base/make_folder.h"
#include "runner/base/object_reader.h"
#include "runner/base/replaced_file.h"
#include "runner/completion.h"
#include "runner/man_page.h"

namespace runner {
namespace {

using base::ExitCode;

base::Command completion_command(const CLI::App& app) {
  base::Command command;
  command.name = "completion";
  command.summary = "completion of this program's command lines, for bash or zsh";
  command.example =
      "source <(trainmark completion bash)\n"
      "  trainmark completion zsh > ~/.zsh/completions/_trainmark";
  command.declare = [&app](CLI::App& own) -> base::Command::Action {
    auto shell = std::make_shared<std::string>();
    own.add_option("SHELL", *shell, "the shell")->required()->check(CLI::IsMember({"bash", "zsh"}));
    return [&app, shell](Communicator*) {
      const CommandFacts tree = command_tree(app);
      std::cout << (*shell == "bash" ? bash_completion(tree) : zsh_completion(tree));
      return ExitCode::kSuccess;
    };
  };
  return command;
}

struct ManOptions {
  std::string command;
  std::string output;
};

ExitCode write_pages(const ManOptions& options, const std::string& program,
                     const std::vector<ManPage>& pages) {
  if (!options.output.empty()) {
    if (!options.command.empty()) {
      throw base::ConfigError("man: --output takes all pages, got the command " + options.command);
    }
    base::make_folder(options.output);
    for (const ManPage& page : pages) {
      base::write_file((std::filesystem::path(options.output) / page.file).string(), page.text);
    }
    return ExitCode::kSuccess;
  }
  const std::string wanted = program + (options.command.empty() ? "" : "-" + options.command);
  std::vector<std::string> names;
  for (const ManPage& page : pages) {
    if (page.file == wanted + ".1") {
      std::cout << page.text;
      return ExitCode::kSuccess;
    }
    if (&page != &pages.front()) {
      names.push_back(page.file.substr(program.size() + 1, page.file.size() - program.size() - 3));
    }
  }
  const std::string near = base::nearest_name(options.command, names);
  throw base::ConfigError("man: no command is called '" + options.command + "'" +
                          (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

base::Command man_command(const CLI::App& app, const std::function<std::string()>& version) {
  base::Command command;
  command.name = "man";
  command.summary = "the man page of this program or of one of its commands";
  command.example = "trainmark man run | man -l -\n  trainmark man --output man1/";
  command.declare = [&app, version](CLI::App& own) -> base::Command::Action {
    auto options = std::make_shared<ManOptions>();
    own.add_option("COMMAND", options->command, "a command; the program itself if absent");
    own.add_option("--output", options->output, "write all pages into this folder");
    return [&app, version, options](Communicator*) {
      const std::string first = version();
      const std::string line = first.substr(0, first.find_first_of("(\n"));
      const std::string edition = line.substr(0, line.find_last_not_of(' ') + 1);
      return write_pages(*options, app.get_name(), man_pages(command_tree(app), edition));
    };
  };
  return command;
}

}  // namespace

std::vector<base::Command> shell_commands(const CLI::App& app,
                                          const std::function<std::string()>& version) {
  return {completion_command(app), man_command(app, version)};
}

}  // namespace runner
