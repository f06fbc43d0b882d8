// A real Slurm cluster for a test, and jobs on it. SLURM_HOSTS names hosts.sh. The cluster ends
// with the test, however the test ends.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>

#include <regex>
#include <set>
#include <string>

#include "launch.h"
#include "waiting.h"

namespace outside {

class Cluster {
 public:
  /// Why this machine cannot run a cluster; "" if it can.
  static std::string why_not(const fs::path& folder) {
    const Ended probed = shell(SLURM_HOSTS " probe", folder);
    return probed.status == 0 ? "" : "a real Slurm: " + probed.err;
  }

  /// Jobs are submitted in `folder`, which all nodes see. `options`: of hosts.sh start.
  Cluster(int nodes, fs::path folder, const std::string& options = "")
      : folder_(std::move(folder)), state_("/tmp/slurm-" + std::to_string(::getpid())) {
    const fs::path output = folder_ / "cluster";
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      const std::string line = "exec " SLURM_HOSTS " --state " + state_ + " with " +
                               std::to_string(nodes) + " --share " + folder_.string() + " " +
                               options + " -- sleep infinity >" + output.string() + " 2>&1";
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    if (!comes([&] { return content(output).find("nodes in") != std::string::npos; })) {
      ADD_FAILURE() << "the cluster does not start: " << content(output);
    }
  }
  ~Cluster() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Runs a shell command on the login node, in the folder.
  Ended run(const std::string& line) const { return hosts("run", line); }
  Ended on_node(int node, const std::string& line) const {
    return hosts("node " + std::to_string(node) + " run", line);
  }
  /// `what`: kill, start, cut or join.
  void node(int node, const std::string& what) const {
    const Ended done = outside_shell(SLURM_HOSTS " --state " + state_ + " node " +
                                     std::to_string(node) + " " + what);
    EXPECT_EQ(done.status, 0) << done.err;
  }

  /// Submits the script and returns the job's number; `options` are sbatch's.
  std::string submit(const fs::path& script, const std::string& options = "") const {
    const Ended submitted = run("sbatch --parsable " + options + " " + script.string());
    EXPECT_EQ(submitted.status, 0) << submitted.err;
    return submitted.out.substr(0, submitted.out.find('\n'));
  }

  /// A field of scontrol's description of a job, such as "JobState", "ExitCode" or "Restarts".
  std::string field(const std::string& job, const std::string& name) const {
    const std::string all = run("scontrol show job -o " + job).out;
    std::smatch match;
    return std::regex_search(all, match, std::regex("\\b" + name + "=(\\S*)")) ? match.str(1) : "";
  }
  /// Waits for the job to end and returns its state: "COMPLETED", "FAILED", ...
  std::string end_of(const std::string& job) const {
    std::string state;
    // Other states come before: PENDING, RUNNING, SIGNALING, COMPLETING, REQUEUED, ...
    static const std::set<std::string> kEnds = {"COMPLETED", "FAILED",    "CANCELLED",
                                                "TIMEOUT",   "NODE_FAIL", "OUT_OF_MEMORY"};
    const bool ended = comes([&] {
      state = field(job, "JobState");
      return kEnds.contains(state);
    });
    EXPECT_TRUE(ended) << "job " << job << " is " << state;
    return state;
  }
  /// The accounting record of the job's last start: "FAILED|7:0".
  std::string accounted(const std::string& job) const {
    std::string text = run("sacct -c -n -P -j " + job + " -o State,ExitCode").out;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

 private:
  Ended outside_shell(const std::string& line) const {
    fs::create_directories(folder_ / "commands");
    return shell(line, folder_ / "commands");
  }
  Ended hosts(const std::string& where, const std::string& line) const {
    const fs::path script = folder_ / "line.sh";
    std::ofstream(script) << "cd '" << folder_.string() << "' && " << line << '\n';
    return outside_shell("cd " + folder_.string() + " && " SLURM_HOSTS " --state " + state_ + " " +
                         where + " sh " + script.string());
  }

  const fs::path folder_;
  const std::string state_;
  pid_t process_ = 0;
};

}  // namespace outside
