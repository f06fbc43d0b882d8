// Who works on a member of a run set, so that others can tell whether it still lives.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/object_reader.h"

namespace runner {

/// One process of one host: its number alone may be used again, in a container or after a restart.
struct SetOwner {
  std::string host;
  std::int64_t process = 0;
  std::uint64_t process_start = 0;  ///< in the kernel's ticks since its boot; 0: unknown
  std::string kernel;               ///< boot and process namespace; "" where unknown
  std::string job;                  ///< "slurm 1234"; "" outside a scheduler's job
  std::string token;                ///< that no other owner has
};

SetOwner this_process();

nlohmann::json to_json(const SetOwner& owner);
/// Throws ConfigError.
SetOwner parse_owner(const base::ObjectReader& in);

/// kUnknown: it runs where this process cannot look.
enum class Life { kAlive, kDead, kUnknown };
Life life_from_here(const SetOwner& owner);

/// "process 17 on node3 (slurm 1234)".
std::string to_text(const SetOwner& owner);

}  // namespace runner
