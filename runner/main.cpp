// The program with every workload.
#include "runner/wiring.h"

#ifdef TRAINMARK_RUNNER

#include "workloads/registry.h"

int main(int argc, char** argv) { return run_trainmark(argc, argv, workloads::registry()); }

#else

int main(int argc, char** argv) { return run_trainmark(argc, argv); }

#endif
