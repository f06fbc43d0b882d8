// Identity of processes.
#include "runner/set_owner.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/base/exclusive_file.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"
#include "runner/launch/launcher.h"

namespace runner {

SetOwner this_process() {
  SetOwner owner;
  owner.host = base::host_name();
  const base::ProcessIdentity own = base::this_process_identity();
  owner.process = own.number;
  owner.process_start = own.start_ticks;
  owner.kernel = own.kernel;
  owner.job = launch::job_text(launch::allocation_of(launch::environment()));
  owner.token = base::unique_token();
  return owner;
}

nlohmann::json to_json(const SetOwner& owner) {
  return {
      {"host", owner.host},     {"process", owner.process}, {"process_start", owner.process_start},
      {"kernel", owner.kernel}, {"job", owner.job},         {"token", owner.token}};
}

SetOwner parse_owner(const base::ObjectReader& in) {
  SetOwner owner;
  owner.host = in.required<std::string>("host", "its name");
  owner.process = in.required<std::int64_t>("process", "its number", base::at_least(1));
  owner.process_start = in.required<std::uint64_t>("process_start", "ticks since the boot");
  owner.kernel = in.required<std::string>("kernel", "boot and process namespace");
  owner.job = in.required<std::string>("job", "scheduler and number");
  owner.token = in.required<std::string>("token", "unique text", base::not_empty());
  return owner;
}

Life life_from_here(const SetOwner& owner) {
  return base::life_from_here({owner.process, owner.process_start, owner.kernel});
}

std::string to_text(const SetOwner& owner) {
  return fmt::format("process {} on {}{}", owner.process, base::printable(owner.host),
                     owner.job.empty() ? "" : " (" + base::printable(owner.job) + ")");
}

}  // namespace runner
