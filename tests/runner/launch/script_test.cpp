// Job scripts: shellcheck accepts the script of each combination of options, and it contains what
// was requested.
#include "runner/launch/script.h"

#include <gmock/gmock.h>

#include <tuple>

#include "launch.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/launch/shell_word.h"

namespace launch {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr Scheduler kSchedulers[] = {Scheduler::kSlurm, Scheduler::kPbs, Scheduler::kLsf,
                                     Scheduler::kFlux};

JobRequest request_for(Scheduler scheduler) {
  JobRequest request;
  request.scheduler = scheduler;
  request.starter = scheduler == Scheduler::kFlux ? Starter::kFlux : Starter::kMpirun;
  request.config = "configs/resnet50/mlperf.json";
  request.workload = "resnet50";
  request.name = "resnet50";
  request.results = "results";
  request.nodes = 4;
  request.cpus_per_rank = 8;
  return request;
}

/// Many requests for a scheduler, each differing from the usual one in one or several options.
std::vector<JobRequest> variants(Scheduler scheduler) {
  const JobRequest usual = request_for(scheduler);
  std::vector<JobRequest> all = {usual};
  constexpr std::pair<int, SetMode> kModes[] = {
      {1, SetMode::kArray}, {5, SetMode::kArray}, {3, SetMode::kTogether}};
  // Each change applies to a single run, a set, or instances with a common start, in turn.
  const auto add = [&](auto change) {
    JobRequest request = usual;
    std::tie(request.runs, request.set_mode) = kModes[all.size() % std::size(kModes)];
    change(request);
    all.push_back(request);
  };
  for (const auto& mode : kModes) {
    add([&mode](JobRequest& r) { std::tie(r.runs, r.set_mode) = mode; });
  }
  add([](JobRequest& r) { r.ranks_per_node = 4; });
  add([](JobRequest& r) { r.sharing = Sharing::kShared; });
  add([](JobRequest& r) { r.restarts = 0; });
  add([](JobRequest& r) { r.preflight = Preflight::kNone; });
  add([](JobRequest& r) { r.preflight = Preflight::kPlan; });
  add([](JobRequest& r) { r.missed = Missed::kSuccess; });
  add([](JobRequest& r) { r.staging = Staging::kAsConfigured; });
  add([](JobRequest& r) { r.checkpoint_minutes = 0; });
  add([](JobRequest& r) { r.modules = {"gcc/12.2", "openmpi/4.1 beta"}; });
  const auto odd = [](JobRequest& r) {
    r.config = "my configs/it's.json";
    r.program = "my builds/train mark";
    r.results = "my results/$HOME";
    r.scratch = "/local disk/`me`";
    r.overrides = {"dataset.train=/data/a b", "results.directory=my results/$HOME"};
    r.starter_options = {"--mca", "btl", "tcp,self", "a 'quoted' word"};
    r.directives = {"--reservation=bench"};
    r.queue = r.account = r.constraint = "some";
    r.restarts = 0;
    r.missed = Missed::kSuccess;
  };
  for (int i = 0; i < 3; ++i) add(odd);
  if (scheduler == Scheduler::kSlurm) {
    for (int i = 0; i < 3; ++i) add([](JobRequest& r) { r.starter = Starter::kSrun; });
  }
  return all;
}

TEST(JobScript, IsAcceptedByShellcheckWhateverIsAskedFor) {
  const base::TemporaryDirectory folder;
  std::string files;
  int count = 0;
  for (const Scheduler scheduler : kSchedulers) {
    for (const JobRequest& request : variants(scheduler)) {
      files += " " + folder.write("job" + std::to_string(count++) + ".sh", job_script(request));
    }
  }
  EXPECT_GT(count, 50);
  const auto checked = outside::shell("shellcheck" + files, folder.path());
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
}

TEST(JobScript, HasNoAbsolutePathThatWasNotGivenButTheUsualScratch) {
  for (const Scheduler scheduler : kSchedulers) {
    std::string script = job_script(request_for(scheduler));
    for (const std::string known : {"#!/bin/bash", ":-/tmp}", ">/dev/null", "</dev/null"}) {
      for (std::size_t at; (at = script.find(known)) != std::string::npos;) {
        script.erase(at, known.size());
      }
    }
    EXPECT_THAT(script, Not(ContainsRegex("[ \"'=(]/[a-z]"))) << script;
  }
}

TEST(JobScript, NamesTheResourcesInTheWordsOfEachScheduler) {
  const auto script = [](Scheduler scheduler, auto change) {
    JobRequest request = request_for(scheduler);
    request.ranks_per_node = 2;
    request.time_s = 5400;
    request.queue = "long";
    request.account = "physics";
    change(request);
    return job_script(request);
  };
  const auto nothing = [](JobRequest&) {};
  const auto set = [](JobRequest& r) {
    r.runs = 5;
    r.at_once = 2;
  };
  EXPECT_THAT(script(Scheduler::kSlurm, nothing),
              AllOf(HasSubstr("#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=2\n"
                              "#SBATCH --cpus-per-task=8\n#SBATCH --exclusive\n"
                              "#SBATCH --time=01:30:00\n#SBATCH --signal=B:USR1@120\n"),
                    HasSubstr("#SBATCH --partition=long\n#SBATCH --account=physics\n")));
  EXPECT_THAT(script(Scheduler::kSlurm, set), HasSubstr("#SBATCH --array=1-5%2\n"));
  EXPECT_THAT(script(Scheduler::kPbs, set),
              AllOf(HasSubstr("#PBS -J 1-5%2\n#PBS -l select=4:ncpus=16:mpiprocs=2\n"
                              "#PBS -l place=scatter:excl\n#PBS -l walltime=01:30:00\n"),
                    HasSubstr("#PBS -q long\n#PBS -A physics\n"), HasSubstr("sleep 5280")));
  EXPECT_THAT(script(Scheduler::kLsf, set),
              AllOf(HasSubstr("#BSUB -J \"resnet50[1-5]%2\"\n#BSUB -n 8\n"
                              "#BSUB -R \"span[ptile=2] affinity[core(8)]\"\n#BSUB -x\n"
                              "#BSUB -W 01:30\n#BSUB -wa USR1\n#BSUB -wt 00:02\n"),
                    HasSubstr("#BSUB -q long\n#BSUB -P physics\n")));
  EXPECT_THAT(script(Scheduler::kFlux, nothing),
              AllOf(HasSubstr("#flux: --nodes=4\n#flux: --exclusive\n#flux: --time-limit=5400s\n"),
                    HasSubstr("#flux: --queue=long\n#flux: --setattr=bank=physics\n")));
}

TEST(JobScript, GivesInstancesThatRunTogetherNodesForAll) {
  JobRequest request = request_for(Scheduler::kSlurm);
  request.runs = 3;
  request.set_mode = SetMode::kTogether;
  EXPECT_THAT(job_script(request),
              AllOf(HasSubstr("#SBATCH --nodes=12\n"), HasSubstr("--only \"$member\" --together"),
                    Not(HasSubstr("--array"))));
}

TEST(JobScript, ResumesASingleRunAndNeverAMemberOfASet) {
  for (const Scheduler scheduler : kSchedulers) {
    JobRequest request = request_for(scheduler);
    EXPECT_THAT(job_script(request), AllOf(HasSubstr("--resume-or-start"), HasSubstr("code == 7")));
    request.runs = 5;
    EXPECT_THAT(job_script(request),
                AllOf(HasSubstr("--runs \"$runs\" --only \"$member\""), Not(HasSubstr("--resume")),
                      Not(HasSubstr("code == 7"))));
  }
}

TEST(JobScript, RefusesWhatASchedulerCannotDo) {
  const auto refused = [](Scheduler scheduler, auto change) {
    JobRequest request = request_for(scheduler);
    change(request);
    try {
      job_script(request);
    } catch (const base::ConfigError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused(Scheduler::kPbs, [](JobRequest& r) { r.starter = Starter::kSrun; }),
              HasSubstr("--launcher srun: only under Slurm, not PBS"));
  EXPECT_THAT(refused(Scheduler::kSlurm, [](JobRequest& r) { r.starter = Starter::kFlux; }),
              HasSubstr("--launcher flux: only under Flux, not Slurm"));
  EXPECT_THAT(refused(Scheduler::kFlux, [](JobRequest& r) { r.starter = Starter::kMpirun; }),
              HasSubstr("--launcher: under Flux only flux"));
  EXPECT_THAT(refused(Scheduler::kLsf, [](JobRequest& r) { r.qos = "high"; }),
              HasSubstr("--qos: only Slurm has it, not LSF"));
  EXPECT_THAT(refused(Scheduler::kSlurm, [](JobRequest& r) { r.at_once = 2; }),
              HasSubstr("--at-once: only for a set"));
  EXPECT_THAT(refused(Scheduler::kFlux,
                      [](JobRequest& r) {
                        r.runs = 5;
                        r.at_once = 2;
                      }),
              HasSubstr("--at-once: Flux has no job arrays"));
  EXPECT_THAT(
      refused(Scheduler::kSlurm, [](JobRequest& r) { r.signal_margin_s = 3600; }),
      HasSubstr("--signal-margin: must be shorter than the time limit of 3600 s, got 3600"));
}

TEST(JobScript, RefusesTextThatWouldBreakADirective) {
  const auto refuses = [](auto change) {
    JobRequest request = request_for(Scheduler::kSlurm);
    change(request);
    EXPECT_THROW(job_script(request), base::ConfigError);
  };
  refuses([](JobRequest& r) { r.name = "two words"; });
  refuses([](JobRequest& r) { r.name = ""; });
  refuses([](JobRequest& r) { r.queue = "a\n#SBATCH --uid=0"; });
  refuses([](JobRequest& r) { r.account = "a b"; });
  refuses([](JobRequest& r) { r.constraint = "\"a\""; });
  refuses([](JobRequest& r) { r.directives = {"--a\nrm -rf x"}; });
  refuses([](JobRequest& r) { r.config = "a\nb.json"; });
}

TEST(JobScript, ParsesTextOfAnyKindAsOneWordOfBash) {
  const base::TemporaryDirectory folder;
  for (const std::string text : {"plain", "two words", "it's", "$HOME `date` \\ \"x\"", "", "*?[a]",
                                 "-n", "~user", "a=b", "\xC3\xA4"}) {
    const std::string file =
        folder.write("echo.sh", "printf '%s' " + shell_word(text) + "\nexit $#\n");
    const auto echoed = outside::shell("bash " + file, folder.path());
    EXPECT_EQ(echoed.out, text);
  }
}

}  // namespace
}  // namespace launch
