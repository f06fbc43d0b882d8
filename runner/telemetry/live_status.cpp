// Writes and reads the status of a run in progress.
#include "runner/telemetry/live_status.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/replaced_file.h"
#include "runner/base/strict_json.h"

namespace telemetry {
namespace {

using Json = nlohmann::json;

constexpr int kLiveSchema = 2;
/// Minimum time between two writes, as a fraction of the period.
constexpr double kSoonest = 0.1;

std::string text_of(const LiveStatus& status) {
  Json subsystems = Json::object();
  for (std::size_t i = 0; i < status.subsystems_s.size(); ++i) {
    subsystems[to_string(static_cast<Subsystem>(i))] = status.subsystems_s[i];
  }
  const Json json = {{"schema", kLiveSchema},
                     {"workload", status.workload},
                     {"host", status.host},
                     {"process", status.process.number},
                     {"process_start", status.process.start_ticks},
                     {"kernel", status.process.kernel},
                     {"ranks", status.ranks},
                     {"phase", status.phase},
                     {"phase_since_ms", status.phase_since_ms},
                     {"updated_ms", status.updated_ms},
                     {"alive_ms", status.alive_ms},
                     {"epoch_num", status.epoch_num},
                     {"epochs", status.epochs},
                     {"steps_done", status.steps_done},
                     {"steps_total", status.steps_total},
                     {"steps_before", status.steps_before},
                     {"samples_per_s", status.samples_per_s},
                     {"mean_loss", status.mean_loss},
                     {"wall_s", status.wall_s},
                     {"subsystems_s", std::move(subsystems)}};
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

/// A member of the file with checked access.
class Member {
 public:
  Member(const Json& object, const char* key, const std::string& name)
      : json_(object.contains(key) ? object[key] : Json()), where_(name + ": /" + key) {}
  std::string text() const {
    if (!json_.is_string()) refuse("a string");
    return json_.get<std::string>();
  }
  std::int64_t count() const {
    const bool fits = json_.is_number_integer() && json_ >= 0 &&
                      json_ <= std::numeric_limits<std::int64_t>::max();
    if (!fits) refuse("an integer that is not negative");
    return json_.get<std::int64_t>();
  }
  double not_negative() const {
    if (!json_.is_number() || !(json_.get<double>() >= 0.0)) {
      refuse("a number that is not negative");
    }
    return json_.get<double>();
  }
  /// A loss may be any number; NaN is stored as null.
  double number_or_nan() const {
    if (json_.is_null()) return std::nan("");
    if (!json_.is_number()) refuse("a number");
    return json_.get<double>();
  }
  const Json& json() const { return json_; }
  [[noreturn]] void refuse(const std::string& expected) const {
    throw base::DataError(where_ + ": must be " + expected + ", got " + base::brief_json(json_));
  }

 private:
  Json json_;
  std::string where_;
};

}  // namespace

LiveStatus parse_live_status(const std::string& text, const std::string& name) {
  const Json json = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  if (!json.is_object()) throw base::DataError(name + ": must be an object");
  const auto member = [&](const char* key) { return Member(json, key, name); };
  if (member("schema").count() != kLiveSchema) {
    member("schema").refuse(std::to_string(kLiveSchema) +
                            " (another version of this program wrote it)");
  }
  LiveStatus status;
  status.workload = member("workload").text();
  status.host = member("host").text();
  status.process.number = member("process").count();
  status.process.start_ticks = static_cast<std::uint64_t>(member("process_start").count());
  status.process.kernel = member("kernel").text();
  status.ranks = member("ranks").count();
  status.phase = member("phase").text();
  status.phase_since_ms = member("phase_since_ms").count();
  status.updated_ms = member("updated_ms").count();
  status.alive_ms = member("alive_ms").count();
  status.epoch_num = member("epoch_num").count();
  status.epochs = member("epochs").count();
  status.steps_done = member("steps_done").count();
  status.steps_total = member("steps_total").count();
  status.steps_before = member("steps_before").count();
  status.samples_per_s = member("samples_per_s").not_negative();
  status.mean_loss = member("mean_loss").number_or_nan();
  status.wall_s = member("wall_s").not_negative();
  const Member subsystems = member("subsystems_s");
  if (!subsystems.json().is_object()) subsystems.refuse("an object");
  for (std::size_t i = 0; i < status.subsystems_s.size(); ++i) {
    status.subsystems_s[i] =
        Member(subsystems.json(), to_string(static_cast<Subsystem>(i)), name + ": /subsystems_s")
            .not_negative();
  }
  return status;
}

std::string live_path(const std::string& log_path) {
  return std::filesystem::path(log_path).replace_extension(".live.json").string();
}

struct LiveStatusFile::State {
  State(std::string path_in, const base::Clock& clock_in, double period_s)
      : path(std::move(path_in)), clock(clock_in), period(period_s) {}

  /// No fsync: a late file harms nobody, but a blocked job would.
  void write(const LiveStatus& status) {
    const std::string partial = path + ".new";
    {
      const base::Descriptor file = base::open_part(partial);
      const std::string text = text_of(status);
      const bool is_written = file && ::write(file.get(), text.data(), text.size()) ==
                                          static_cast<ssize_t>(text.size());
      if (!is_written) return fail(partial + ": cannot be written", errno);
    }
    if (std::rename(partial.c_str(), path.c_str()) != 0) fail(path + ": cannot be replaced", errno);
  }
  void fail(const std::string& what, int error_number) {
    const std::scoped_lock lock(mutex);
    problem = base::system_error(what, error_number).what();
    ending = true;
  }
  void work() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ending || newest; });
    while (!ending) {
      LiveStatus status = *newest;
      lock.unlock();
      status.alive_ms = clock.unix_ms();
      write(status);
      lock.lock();
      // A new phase is written sooner, but not so soon that short phases load the file system.
      const auto wait = [&](double seconds, const auto& until) {
        changed.wait_for(lock, std::chrono::duration<double>(seconds), until);
      };
      wait(period * kSoonest, [&] { return ending; });
      wait(period * (1.0 - kSoonest), [&] { return ending || newest->phase != status.phase; });
    }
  }

  const std::string path;
  const base::Clock& clock;
  const double period;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::optional<LiveStatus> newest;
  std::string problem;
  bool ending = false;
  std::thread thread;
};

LiveStatusFile::LiveStatusFile(std::string path, const base::Clock& clock, double period_s)
    : state_(std::make_unique<State>(std::move(path), clock, period_s)) {
  try {
    state_->thread = std::thread([state = state_.get()] { state->work(); });
  } catch (const std::system_error& e) {
    state_->fail(state_->path + ": cannot start the thread that writes it", e.code().value());
  }
}

LiveStatusFile::~LiveStatusFile() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
  std::remove(state_->path.c_str());
  std::remove((state_->path + ".new").c_str());
}

void LiveStatusFile::publish(const LiveStatus& status) {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->newest = status;
  }
  state_->changed.notify_all();
}

std::string LiveStatusFile::problem() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->problem;
}

}  // namespace telemetry
