// Prints parallel::roc_auc() of scores from files, for comparison with another program.
//
//   [mpirun -n RANKS] roc_auc FILE...
//
// FILE has N scores, then N labels, all little-endian float32. Of R ranks, rank r takes samples
// [N r^2 / R^2, N (r + 1)^2 / R^2): the first has the fewest, perhaps none. Prints one area per
// line, with the 17 digits that distinguish any two doubles.
#include "workloads/parallel/roc_auc.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/communicator.h"
#include "staging/dataset/file.h"

namespace {

using runner::Communicator;

std::int64_t first_sample(std::int64_t samples, std::int64_t rank, std::int64_t ranks) {
  return samples * rank * rank / (ranks * ranks);
}

double area_of(const std::string& path, const Communicator& world) {
  constexpr std::int64_t kFloatBytes = sizeof(float), kSampleBytes = 2 * kFloatBytes;
  const dataset::File file(path);
  if (file.size() % kSampleBytes != 0) {
    throw base::DataError(
        fmt::format("{}: expected a score and a label of {} bytes each for "
                    "every sample, got {} bytes",
                    path, kFloatBytes, file.size()));
  }
  const std::int64_t samples = file.size() / kSampleBytes;
  const std::int64_t begin = first_sample(samples, world.rank(), world.size());
  const std::int64_t end = first_sample(samples, world.rank() + 1, world.size());
  std::vector<float> scores(static_cast<std::size_t>(end - begin)), labels(scores.size());
  file.read(begin * kFloatBytes, std::as_writable_bytes(std::span(scores)));
  file.read((samples + begin) * kFloatBytes, std::as_writable_bytes(std::span(labels)));
  return parallel::roc_auc(scores, labels, world).area;
}

}  // namespace

int main(int argc, char** argv) {
  const runner::MpiEnvironment environment(argc, argv);
  const Communicator world = Communicator::world();
  try {
    if (argc < 2) throw base::ConfigError("usage: roc_auc FILE...");
    for (int i = 1; i < argc; ++i) {
      const double area = area_of(argv[i], world);
      if (world.rank() == 0) fmt::print("{:.17g}\n", area);
    }
    return static_cast<int>(base::ExitCode::kSuccess);
  } catch (const base::Error& error) {
    world.abort(error.code(), error.what());
  } catch (const std::exception& error) {
    world.abort(base::ExitCode::kInternal, error.what());
  }
}
