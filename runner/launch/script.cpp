// Job scripts: checks the request and joins the parts.
#include "runner/launch/script.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "runner/launch/script_body.h"
#include "runner/launch/script_parts.h"
#include "runner/launch/shell_word.h"

namespace launch {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw base::ConfigError("script: " + message);
}

/// A directive is one line of words: a line break would end it, a quote would swallow others.
void require_plain(const std::string& option, const std::string& value) {
  const auto odd = std::find_if(value.begin(), value.end(), [](unsigned char c) {
    return c <= ' ' || c == 0x7F || c == '"' || c == '\'' || c == '`' || c == '\\';
  });
  if (odd == value.end()) return;
  refuse(option + ": must be without blanks, quotes and backslashes, got '" + value + "'");
}

void require_one_line(const std::string& option, const std::string& value) {
  const auto odd = std::find_if(value.begin(), value.end(),
                                [](unsigned char c) { return c < ' ' || c == 0x7F; });
  if (odd == value.end() && !value.empty()) return;
  refuse(option + ": must be one line of text, got '" + value + "'");
}

void require_job_name(const std::string& name) {
  const bool fits = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
  if (!fits || name.empty() || name.front() == '-') {
    refuse("--name: must consist of letters, digits, '.', '_' and '-', got '" + name + "'");
  }
}

const char* name_of(Scheduler scheduler) {
  static const char* const names[] = {"Slurm", "PBS", "LSF", "Flux"};
  return names[static_cast<int>(scheduler)];
}

void check_schedulers_limits(const JobRequest& request) {
  const std::string scheduler = name_of(request.scheduler);
  if (!request.qos.empty() && request.scheduler != Scheduler::kSlurm) {
    refuse("--qos: only Slurm has it, not " + scheduler);
  }
  if (request.starter == Starter::kSrun && request.scheduler != Scheduler::kSlurm) {
    refuse("--launcher srun: only under Slurm, not " + scheduler);
  }
  if ((request.starter == Starter::kFlux) != (request.scheduler == Scheduler::kFlux)) {
    refuse(request.starter == Starter::kFlux ? "--launcher flux: only under Flux, not " + scheduler
                                             : "--launcher: under Flux only flux, which is "
                                               "flux run, can place ranks");
  }
  if (request.at_once > 0 && !request.is_array()) {
    refuse("--at-once: only for a set (--runs 2 or more) without --together");
  }
  if (request.at_once > 0 && request.scheduler == Scheduler::kFlux) {
    refuse("--at-once: Flux has no job arrays; submit fewer members at a time");
  }
}

void check(const JobRequest& request) {
  require_job_name(request.name);
  for (const auto& [option, value] :
       {std::pair("--partition", &request.queue), std::pair("--account", &request.account),
        std::pair("--qos", &request.qos), std::pair("--constraint", &request.constraint)}) {
    require_plain(option, *value);
  }
  for (const std::string& line : request.directives) require_one_line("--directive", line);
  for (const auto& [option, value] :
       {std::pair("CONFIG", &request.config), std::pair("--program", &request.program),
        std::pair("--results", &request.results)}) {
    require_one_line(option, *value);
  }
  check_schedulers_limits(request);
  if (request.signal_margin_s >= request.time_s) {
    refuse(fmt::format("--signal-margin: must be shorter than the time limit of {} s, got {}",
                       request.time_s, request.signal_margin_s));
  }
}

SchedulerParts parts_of(const JobRequest& request) {
  switch (request.scheduler) {
    case Scheduler::kSlurm:
      return slurm_parts(request);
    case Scheduler::kPbs:
      return pbs_parts(request);
    case Scheduler::kLsf:
      return lsf_parts(request);
    case Scheduler::kFlux:
      return flux_parts(request);
  }
  return {};
}

std::string purpose(const JobRequest& request) {
  const std::string size = base::counted(request.nodes, "node") + " with " +
                           base::counted(request.ranks_per_node, "rank") + " each";
  if (request.is_together()) {
    return fmt::format("{} instances of {} at the same time, on {}", request.runs, request.workload,
                       size);
  }
  if (request.is_set()) {
    return fmt::format("A set of {} runs of {}, each on {}", request.runs, request.workload, size);
  }
  return fmt::format("A run of {} on {}", request.workload, size);
}

std::string header(const JobRequest& request, const SchedulerParts& parts) {
  std::string text = "#!/bin/bash\n# " + purpose(request) + ". Written by trainmark script.\n#\n";
  const auto line = [&text](const std::string& what, const std::string& command) {
    text += fmt::format("#   {:<9} {}\n", what, command);
  };
  line("submit", parts.submit);
  line("follow", parts.follow + "; trainmark status " + shell_word(request.results));
  line("end", parts.stop);
  if (!request.is_set()) line("go on", parts.go_on);
  text +=
      "#\n# SCRIPT is this file and JOB the job's number. Paths start in the folder that it is "
      "submitted from.\n# ";
  text += request.is_set()
              ? "Submitted again, it runs the members that are missing."
              : "Before the time limit the run saves itself; the job is queued again and goes on.";
  text += request.missed == Missed::kSuccess
              ? "\n# The exit code is trainmark's, but a missed target (6) counts as success (0).\n"
              : "\n# The exit code is trainmark's: 0 means that the target was reached, 6 that it "
                "was missed. A job that follows in\n# either case depends on the end of this one, "
                "not on its success.\n";
  return text;
}

std::string directive_lines(const JobRequest& request, const SchedulerParts& parts) {
  std::string text;
  for (const std::string& one : parts.directives) text += parts.sentinel + ' ' + one + '\n';
  for (const std::string& one : request.directives) text += parts.sentinel + ' ' + one + '\n';
  return text;
}

}  // namespace

std::string clock_text(std::int64_t seconds) {
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string job_script(const JobRequest& request) {
  check(request);
  const SchedulerParts parts = parts_of(request);
  return header(request, parts) + directive_lines(request, parts) +
         "# shellcheck disable=SC2317 # what traps call\n\n" + script_body(request, parts);
}

std::vector<std::vector<std::string>> submit_commands(const JobRequest& request) {
  switch (request.scheduler) {
    case Scheduler::kSlurm:
      return {{"sbatch", "--parsable"}};
    case Scheduler::kPbs:
      return {{"qsub"}};
    case Scheduler::kLsf:
      return {{"bsub"}};
    case Scheduler::kFlux:
      break;
  }
  if (!request.is_array()) return {{"flux", "batch"}};
  std::vector<std::vector<std::string>> all;
  for (std::int64_t member = 1; member <= request.runs; ++member) {
    all.push_back({"flux", "batch", fmt::format("--env=MEMBER={}", member)});
  }
  return all;
}

}  // namespace launch
