// MPI's initialization and finalization, its errors and its version.
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <string>

#include "runner/communicator.h"
#include "runner/launch/launcher.h"
#include "runner/mpi_calls.h"

namespace runner {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw base::SystemError(
      fmt::format("{}: {}", call, std::string(text.data(), static_cast<std::size_t>(length))));
}

bool does_abort_wait() { return launch::open_mpi_version(mpi_library_version()) >= 5; }

bool is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

bool unwinding_or_finalized() { return std::uncaught_exceptions() > 0 || is_finalized(); }

MpiEnvironment::MpiEnvironment(int& argc, char**& argv) {
  constexpr int kKeepTheUsers = 0;
  if (does_abort_wait()) ::setenv("OMPI_MCA_opal_abort_delay", "60", kKeepTheUsers);
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw base::SystemError(
        fmt::format("MPI_Init_thread: expected MPI_THREAD_SERIALIZED, got level {}", provided));
  }
}

MpiEnvironment::~MpiEnvironment() {
  if (!unwinding_or_finalized()) MPI_Finalize();
}

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string full(text.data(), static_cast<std::size_t>(length));
  // The text after the first comma or newline describes the packaging.
  std::string version = full.substr(0, full.find_first_of(",\n"));
  // MPICH's is "MPICH Version:", a tab, and the number.
  if (const std::size_t tab = version.find(":\t"); tab != std::string::npos)
    version.replace(tab, 2, " ");
  return version;
}

}  // namespace runner
