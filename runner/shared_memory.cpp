// A window of MPI's shared memory. Open MPI rounds sizes up and does not align parts.
#include "runner/shared_memory.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/unique_handle.h"
#include "runner/communicator_state.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

constexpr std::size_t kCacheLine = 64;
/// Extra bytes per part, for alignment and whole pages.
constexpr std::int64_t kSlack = 8192;

int ranks_of(MPI_Win window) {
  MPI_Group group = MPI_GROUP_NULL;
  int ranks = 0;
  MPI_Win_get_group(window, &group);
  MPI_Group_size(group, &ranks);
  MPI_Group_free(&group);
  return ranks;
}

/// The folder of Open MPI's shared memory files.
std::string backing_folder() {
  const char* chosen = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  return chosen != nullptr ? chosen : "/dev/shm";
}

/// Throws before the collective call if there is too little memory. Inside that call, other ranks
/// would wait, or be killed when touching a page that does not exist.
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
  /// Freeing a window is collective: while an exception unwinds, other ranks may be elsewhere.
  struct WindowTraits {
    using Raw = MPI_Win;
    static Raw null() { return MPI_WIN_NULL; }
    static void close(Raw window) {
      if (is_finalized()) return;
      if (std::uncaught_exceptions() == 0 || ranks_of(window) == 1) MPI_Win_free(&window);
    }
  };

  State(MPI_Win handle, std::shared_ptr<Accounting::Book> book_in)
      : book(std::move(book_in)), window(handle) {}
  ~State() {
    const CallLock lock = book->lock();
    window.reset();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<Accounting::Book> book;
  base::UniqueHandle<WindowTraits> window;
  std::vector<std::span<std::byte>> parts;
};

namespace {

/// The first `bytes` of a rank's segment, from a cache line boundary on. A segment has the same
/// offset within a page in every process, so all processes find the same boundary.
std::span<std::byte> part_in(MPI_Win window, int rank, std::int64_t bytes) {
  MPI_Aint size = 0;
  int unit = 1;
  void* begin = nullptr;
  check(MPI_Win_shared_query(window, rank, &size, &unit, static_cast<void*>(&begin)),
        "MPI_Win_shared_query");
  auto space = static_cast<std::size_t>(size);
  if (std::align(kCacheLine, static_cast<std::size_t>(bytes), begin, space) == nullptr) {
    throw base::SystemError(fmt::format("shared memory: expected {} bytes, got {}", bytes, size));
  }
  return {static_cast<std::byte*>(begin), static_cast<std::size_t>(bytes)};
}

MPI_Win allocate(const Communicator& node, MPI_Comm comm, std::int64_t bytes) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  // Separate segments, so that ranks do not share pages.
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  void* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  constexpr const char* kCall = "MPI_Win_allocate_shared";
  const base::Activity::Waiting waiting(node.activity(), kCall);
  const auto size = static_cast<MPI_Aint>(bytes) + static_cast<MPI_Aint>(kCacheLine);
  const int code = MPI_Win_allocate_shared(size, 1, info, comm, static_cast<void*>(&mine), &window);
  MPI_Info_free(&info);
  check(code, kCall);
  return window;
}

}  // namespace

SharedMemory::SharedMemory(const Communicator& node, std::int64_t bytes) {
  const MPI_Comm comm = *static_cast<const MPI_Comm*>(node.handle());
  const CallLock lock = node.book()->lock();
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(node.size()));
  check(MPI_Allgather(&bytes, sizeof bytes, MPI_BYTE, sizes.data(), sizeof bytes, MPI_BYTE, comm),
        "MPI_Allgather");
  require_room(node, std::accumulate(sizes.begin(), sizes.end(), kSlack * node.size()));
  state_ = std::make_unique<State>(allocate(node, comm, bytes), node.book());
  for (int rank = 0; rank < node.size(); ++rank) {
    state_->parts.push_back(
        part_in(state_->window.get(), rank, sizes[static_cast<std::size_t>(rank)]));
  }
  // Zeroes the memory, and allocates its pages now, near this rank.
  std::ranges::fill(part(node.rank()), std::byte{0});
  node.barrier();
}

SharedMemory::SharedMemory(SharedMemory&&) noexcept = default;
SharedMemory& SharedMemory::operator=(SharedMemory&&) noexcept = default;
SharedMemory::~SharedMemory() = default;

std::span<std::byte> SharedMemory::part(int rank) const {
  return state_->parts.at(static_cast<std::size_t>(rank));
}

}  // namespace runner
