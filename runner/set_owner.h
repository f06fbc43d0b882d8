// Identifies the owner of a run set's member, so that others can tell whether it is alive.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/object_reader.h"
#include "runner/base/process_state.h"

namespace runner {

/// A process on a host. Its number alone may be reused, in a container or after a reboot.
struct SetOwner {
  std::string host;
  std::int64_t process = 0;
  std::uint64_t process_start = 0;  ///< in clock ticks since boot; 0: unknown
  std::string kernel;               ///< boot and process namespace; "" if unknown
  std::string job;                  ///< "slurm 1234"; "" outside a job
  std::string token;                ///< unique to this owner
};

SetOwner this_process();

nlohmann::json to_json(const SetOwner& owner);
/// Throws ConfigError.
SetOwner parse_owner(const base::ObjectReader& in);

using base::Life;
Life life_from_here(const SetOwner& owner);

/// "process 17 on node3 (slurm 1234)".
std::string to_text(const SetOwner& owner);

}  // namespace runner
