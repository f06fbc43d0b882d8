// Measures the reading of logs in bytes per second of one core, from a file in the page cache.
#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/log_file.h"
#include "runner/base/fake_clock.h"
#include "runner/base/temporary_directory.h"
#include "runner/mllog/log_writer.h"
#include "runner/mllog/record_reader.h"

namespace {

constexpr std::size_t kLogBytes = 64 << 20;

/// The log of a long run, with a line of statistics for each step; removed at the end.
class LongLog {
 public:
  LongLog() {
    struct File final : mllog::RecordSink {
      explicit File(const std::string& path) : out(path, std::ios::binary) {}
      void write_line(const std::string& line) override {
        out << line << '\n';
        bytes += line.size() + 1;
      }
      std::ofstream out;
      std::size_t bytes = 0;
    } file(path());
    base::FakeClock clock;
    mllog::LogWriter writer(&file, clock);
    writer.start("run_start");
    for (int step = 0; file.bytes < kLogBytes; ++step) {
      clock.milliseconds += 137;
      const double loss = 1.0 / (1.0 + 0.001 * step);
      if (step % 100 == 0) {
        writer.event("eval_accuracy", 1.0 - loss, {{"epoch_num", step / 100 + 1}});
      }
      writer.event("train_loss", loss, {{"epoch_num", step / 100 + 1}, {"step_num", step}});
      writer.event("tracked_stats",
                   {{"throughput", 4711.25 + loss}, {"learning_rate", 1e-3 * loss}},
                   {{"step", step}});
    }
    writer.end("run_stop", {{"status", "success"}});
  }
  std::string path() const { return (folder_.path() / "result_0.txt").string(); }
  static const LongLog& get() {
    static const LongLog log;
    return log;
  }

 private:
  base::TemporaryDirectory folder_;
};

void count_bytes(benchmark::State& state, std::int64_t bytes_each) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes_each);
}

/// The upper limit: reads the file and finds its lines.
void find_lines(benchmark::State& state) {
  std::int64_t bytes = 0;
  std::vector<char> buffer(1 << 18);
  const std::string path = LongLog::get().path();
  for ([[maybe_unused]] auto _ : state) {
    std::ifstream in(path, std::ios::binary);
    std::int64_t lines = 0;
    bytes = 0;
    while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
      const char* at = buffer.data();
      const char* const end = at + in.gcount();
      bytes += in.gcount();
      while ((at = static_cast<const char*>(
                  std::memchr(at, '\n', static_cast<std::size_t>(end - at))))) {
        ++at;
        ++lines;
      }
    }
    benchmark::DoNotOptimize(lines);
  }
  count_bytes(state, bytes);
}
BENCHMARK(find_lines)->Unit(benchmark::kMillisecond);

/// For comparison: parses every record into a tree of JSON values.
void decode_every_record(benchmark::State& state) {
  std::int64_t bytes = 0;
  const std::string path = LongLog::get().path();
  for ([[maybe_unused]] auto _ : state) {
    std::ifstream in(path, std::ios::binary);
    std::string line;
    bytes = 0;
    while (std::getline(in, line)) {
      bytes += static_cast<std::int64_t>(line.size()) + 1;
      benchmark::DoNotOptimize(nlohmann::json::parse(line.substr(line.find('{'))));
    }
  }
  count_bytes(state, bytes);
}
BENCHMARK(decode_every_record)->Unit(benchmark::kMillisecond);

void read_records(benchmark::State& state) {
  std::int64_t bytes = 0;
  const std::string path = LongLog::get().path();
  for ([[maybe_unused]] auto _ : state) {
    std::ifstream in(path, std::ios::binary);
    mllog::RecordReader reader(in);
    while (const auto item = reader.next()) benchmark::DoNotOptimize(item->index());
    bytes = reader.bytes();
  }
  count_bytes(state, bytes);
}
BENCHMARK(read_records)->Unit(benchmark::kMillisecond);

void parse_a_log(benchmark::State& state) {
  std::int64_t bytes = 0;
  const std::string path = LongLog::get().path();
  for ([[maybe_unused]] auto _ : state) {
    bytes = analysis::parse_log(path).bytes;
  }
  count_bytes(state, bytes);
}
BENCHMARK(parse_a_log)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
