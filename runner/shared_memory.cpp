// A window of MPI's shared memory.
// Hides its handle, and that Open MPI rounds sizes up and begins parts anywhere.
#include "runner/shared_memory.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/unique_handle.h"
#include "runner/communicator.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

constexpr std::size_t kCacheLine = 64;
/// What a part takes beyond its bytes: alignment, and whole pages.
constexpr std::int64_t kSlack = 8192;

int ranks_of(MPI_Win window) {
  MPI_Group group = MPI_GROUP_NULL;
  int ranks = 0;
  MPI_Win_get_group(window, &group);
  MPI_Group_size(group, &ranks);
  MPI_Group_free(&group);
  return ranks;
}

/// Freeing a window is collective: while an exception unwinds, the other ranks, if any, are
/// elsewhere.
struct WindowTraits {
  using Raw = MPI_Win;
  static Raw null() { return MPI_WIN_NULL; }
  static void close(Raw window) {
    if (is_finalized()) return;
    if (std::uncaught_exceptions() == 0 || ranks_of(window) == 1) MPI_Win_free(&window);
  }
};

/// Where Open MPI keeps such memory.
std::string backing_folder() {
  const char* chosen = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  return chosen != nullptr ? chosen : "/dev/shm";
}

/// A rank that cannot have the memory must say so before the collective call: within it the others
/// would wait for it, or be killed at the first touch of a page that is not there.
void require_room(const Communicator& node, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* probe =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) {
    throw base::system_error(fmt::format("memory that ranks share: {} bytes", bytes), errno);
  }
  ::munmap(probe, size);
  if (node.rank() != 0 || node.size() == 1) return;
  const std::string folder = backing_folder();
  struct statvfs volume {};
  if (::statvfs(folder.c_str(), &volume) != 0) throw base::system_error(folder, errno);
  const auto free = static_cast<std::int64_t>(volume.f_bavail * volume.f_frsize);
  if (free < bytes) {
    throw base::SystemError(fmt::format(
        "{}: expected {} free bytes for the memory that the {} ranks of a node share, found {} "
        "(OMPI_MCA_osc_sm_backing_directory names another folder)",
        folder, bytes, node.size(), free));
  }
}

}  // namespace

struct SharedMemory::State {
  State(MPI_Win handle, std::vector<std::int64_t> bytes_in)
      : window(handle), bytes(std::move(bytes_in)) {}
  base::UniqueHandle<WindowTraits> window;
  std::vector<std::int64_t> bytes;  ///< that each rank asked for
};

SharedMemory::SharedMemory(const Communicator& node, std::int64_t bytes) {
  std::array<std::int64_t, 1> total = {bytes + kSlack};
  node.allreduce_sum(std::span<std::int64_t>(total));
  require_room(node, total[0]);
  const MPI_Comm comm = *static_cast<const MPI_Comm*>(node.handle());
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  // So that ranks do not write to pages of each other.
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  void* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const base::Activity::Waiting waiting(node.activity(), "MPI_Win_allocate_shared");
  const int code =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes) + static_cast<MPI_Aint>(kCacheLine), 1,
                              info, comm, static_cast<void*>(&mine), &window);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) {
    throw base::SystemError(
        fmt::format("MPI_Win_allocate_shared: no {} bytes in {}", total[0], backing_folder()));
  }
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(node.size()));
  if (MPI_Allgather(&bytes, sizeof bytes, MPI_BYTE, sizes.data(), sizeof bytes, MPI_BYTE, comm) !=
      MPI_SUCCESS) {
    throw base::SystemError("MPI_Allgather failed for sizes of shared memory");
  }
  state_ = std::make_unique<State>(window, std::move(sizes));
  // Takes the pages now, near this rank, while there is room; and all find zeros.
  const std::span<std::byte> own = part(node.rank());
  std::memset(own.data(), 0, own.size());
  node.barrier();
}

SharedMemory::SharedMemory(SharedMemory&&) noexcept = default;
SharedMemory& SharedMemory::operator=(SharedMemory&&) noexcept = default;
SharedMemory::~SharedMemory() = default;

std::span<std::byte> SharedMemory::part(int rank) const {
  MPI_Aint bytes = 0;
  int unit = 1;
  void* begin = nullptr;
  if (MPI_Win_shared_query(state_->window.get(), rank, &bytes, &unit, static_cast<void*>(&begin)) !=
      MPI_SUCCESS) {
    throw base::SystemError("MPI_Win_shared_query failed");
  }
  const auto size = static_cast<std::size_t>(state_->bytes.at(static_cast<std::size_t>(rank)));
  // The segment begins at a page in every process, so that all find the same line.
  auto space = static_cast<std::size_t>(bytes);
  if (std::align(kCacheLine, size, begin, space) == nullptr) {
    throw base::SystemError(fmt::format("shared memory: expected {} bytes, got {}", size, bytes));
  }
  return {static_cast<std::byte*>(begin), size};
}

}  // namespace runner
