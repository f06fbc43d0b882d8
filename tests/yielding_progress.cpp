// A library to preload into ranks that share processors under MPICH, whose waiting ranks do not
// yield: each exchange then takes a time slice of the scheduler, and tests take a hundred times as
// long. Yields when UCX, by which Debian's MPICH sends, finds nothing to do.
#include <dlfcn.h>
#include <sched.h>

extern "C" unsigned ucp_worker_progress(void* worker) {
  using Progress = unsigned (*)(void*);
  static const auto real = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  const unsigned count = real(worker);
  if (count == 0) sched_yield();
  return count;
}
