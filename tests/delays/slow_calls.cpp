// A library to preload that makes selected calls of one rank slow. Environment variables:
//   DELAY_RANK      the slow rank
//   DELAY_READS     "/train/:15,/validation/:60": milliseconds before each pread of a file whose
//                   path contains the word
//   DELAY_COMPUTE   microseconds before each oneDNN primitive
//   DELAY_REPORT    file that gets a line "WORD SECONDS" for each word: the total delay
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <list>
#include <string>
#include <thread>

namespace {

struct SlowPath {
  std::string word;
  std::chrono::microseconds before{0};
  std::atomic<std::int64_t> waited_ns{0};
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Delays {
 public:
  Delays() {
    const std::string rank = variable(MPIEXEC_RANK);
    if (rank.empty() || rank != variable("DELAY_RANK")) return;
    compute_.before = std::chrono::microseconds(std::atoll(variable("DELAY_COMPUTE").c_str()));
    std::string rest = variable("DELAY_READS");
    while (!rest.empty()) {
      const std::string item = rest.substr(0, rest.find(','));
      rest.erase(0, item.size() + 1);
      SlowPath& path = paths_.emplace_back();
      path.word = item.substr(0, item.find(':'));
      path.before = std::chrono::milliseconds(std::atoll(item.substr(item.find(':') + 1).c_str()));
    }
  }
  ~Delays() = default;
  Delays(const Delays&) = delete;
  Delays& operator=(const Delays&) = delete;

  void report() const {
    if (paths_.empty() && compute_.before.count() == 0) return;
    std::ofstream out(variable("DELAY_REPORT"));
    for (const SlowPath& path : paths_) {
      out << path.word << ' ' << static_cast<double>(path.waited_ns) * 1e-9 << '\n';
    }
    out << "compute " << static_cast<double>(compute_.waited_ns) * 1e-9 << '\n';
  }

  void before_read(int descriptor) {
    if (paths_.empty()) return;
    std::array<char, 4096> target{};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
    if (length <= 0) return;
    const std::string path(target.data(), static_cast<std::size_t>(length));
    for (SlowPath& slow : paths_) {
      if (path.find(slow.word) != std::string::npos) wait(slow);
    }
  }
  void before_compute() {
    if (compute_.before.count() > 0) wait(compute_);
  }

 private:
  static void wait(SlowPath& slow) {
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(slow.before);
    slow.waited_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
  }
  std::list<SlowPath> paths_;
  SlowPath compute_;
};

/// Created by the first call from any thread.
Delays& delays() {
  static Delays instance;
  return instance;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t pread(int descriptor, void* data, size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, void*, size_t, off_t)>("pread");
  delays().before_read(descriptor);
  return real(descriptor, data, size, offset);
}

ssize_t pread64(int descriptor, void* data, size_t size, off64_t offset) {
  static auto* const real = next<ssize_t(int, void*, size_t, off64_t)>("pread64");
  delays().before_read(descriptor);
  return real(descriptor, data, size, offset);
}

int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments) {
  static auto* const real =
      next<int(const void*, void*, int, const void*)>("dnnl_primitive_execute");
  delays().before_compute();
  return real(primitive, stream, count, arguments);
}

/// Reports here, while the launcher still waits: it ends the other ranks once one has failed, and a
/// rank ended by it does not run destructors.
int MPI_Finalize() {
  static auto* const real = next<int()>("MPI_Finalize");
  delays().report();
  return real();
}
}
