// The program with every workload and benchmark of the machine.
#include "runner/wiring.h"

#ifdef TRAINMARK_RUNNER

#include "workloads/registry.h"

int main(int argc, char** argv) {
  return run_trainmark(argc, argv, workloads::registry(), workloads::machine_benches(),
                       workloads::commands());
}

#else

int main(int argc, char** argv) { return run_trainmark(argc, argv); }

#endif
