// The program with one more workload, which takes only its folder and this entry.
#include <utility>

#include "runner/wiring.h"
#include "workloads/example/config.h"
#include "workloads/example/generate.h"
#include "workloads/example/workload.h"
#include "workloads/registry.h"

int main(int argc, char** argv) {
  std::vector<runner::WorkloadEntry> workloads = workloads::registry();
  workloads.push_back({.name = "example",
                       .summary = "a perceptron of two layers, points inside of a circle",
                       .make = example::make_workload,
                       .check = example::check_config,
                       .memory_needs = example::memory_needs,
                       .declare_bench = example::declare_bench,
                       .declare_generate = example::declare_generate});
  return run_trainmark(argc, argv, std::move(workloads));
}
