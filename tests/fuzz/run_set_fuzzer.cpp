// Arbitrary bytes as the files of a run set: its definition, an attempt and its name, the common
// start. A DataError or a ConfigError, or what can be written and read again.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/base/error.h"
#include "runner/set_attempt.h"
#include "runner/set_file.h"
#include "runner/start_barrier.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/memory_folder.h"

namespace {

template <class Call>
void try_to(const Call& call) {
  try {
    call();
  } catch (const base::DataError&) {
  } catch (const base::ConfigError&) {
  }
}

void open_set(const fuzz::MemoryFolder& folder) {
  runner::SetDefinition wanted;
  wanted.runs = 5;
  wanted.config = {{"workload", "cosmoflow"}, {"epochs", 3}};
  const runner::SetDefinition found = runner::open_set(folder.path(), wanted);
  fuzz::require(found.runs == wanted.runs && found.ranks == wanted.ranks);
  fuzz::require(found.kind == wanted.kind && found.config.is_object());
  fuzz::require(runner::member_seed(found, 1) != runner::member_seed(found, wanted.runs));
}

void read_attempt(const std::string& text) {
  const runner::Attempt attempt = runner::parse_attempt(text, "fuzz.json");
  fuzz::require(attempt.member > 0 && attempt.number > 0 && attempt.result >= 0);
  const std::string written = runner::to_text(attempt);
  fuzz::require(runner::to_text(runner::parse_attempt(written, "again.json")) == written);
}

void read_name(const std::string& text) {
  const auto found = runner::parse_attempt_name(text);
  if (!found) return;
  const std::string path =
      runner::attempt_path("", found->member, found->number, found->ending.c_str());
  const auto again = runner::parse_attempt_name(path.substr(path.find("member_")));
  fuzz::require(again && again->member == found->member && again->number == found->number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const fuzz::MemoryFolder folder;
  folder.write("set.json", text + "\n");  // a reader waits for the last line end
  try_to([&] { open_set(folder); });
  try_to([&] { read_attempt(text); });
  folder.write("set/start.json", text + "\n");
  try_to([&] { fuzz::require(runner::has_started(folder.path())); });
  read_name(text);
  return 0;
}
