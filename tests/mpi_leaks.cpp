// What sanitizers must know of Open MPI, such as its leaks. Linked into programs that use MPI.

extern "C" {

/// Keeps plug-ins loaded until the process ends: otherwise the report could not name the library of
/// an allocation.
int dlclose(void* /*handle*/) { return 0; }

/// Most of Open MPI is built without frame pointers; otherwise its callers would be unknown. Where
/// thread-local memory of a plug-in lies is guessed from the bytes before it, which may be wrong
/// and then ends the search for leaks.
const char* __asan_default_options() { return "fast_unwind_on_malloc=0:intercept_tls_get_addr=0"; }

/// Open MPI and PMIx are built without TSan, which would not see how their threads wait for each
/// other.
const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

const char* __lsan_default_options() { return "print_suppressions=0"; }

const char* __lsan_default_suppressions() {
  return
      // MPI_Init keeps tables of reductions, bindings, host names and components for the life of
      // the process, and MPI_Finalize frees most of them.
      "leak:ompi_mpi_init\n"
      // PMIx, through which a rank talks to its launcher, leaks look-ups that it makes in a thread
      // of its own.
      "leak:libpmix.so\n";
}

}  // extern "C"
