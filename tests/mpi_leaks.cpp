// What Open MPI leaks, for the leak reports of sanitizer builds. Linked into programs that use MPI.
// Hides the names that the sanitizers and the loader look for.

extern "C" {

/// Plug-ins stay loaded until the process ends: else the report could not name the library that an
/// allocation came from.
int dlclose(void* /*handle*/) { return 0; }

/// Most of Open MPI is built without frame pointers: without this its callers were unknown.
const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }

const char* __lsan_default_options() { return "print_suppressions=0"; }

const char* __lsan_default_suppressions() {
  return
      // MPI_Init keeps tables of reductions, bindings, names of hosts and components for the life
      // of the process, and MPI_Finalize frees most of them.
      "leak:ompi_mpi_init\n"
      // PMIx, through which a rank speaks with its launcher, loses what it looks up in a thread of
      // its own.
      "leak:libpmix.so\n";
}

}  // extern "C"
