// The environment variables that move figures.
// Hides which those are, and which must not be published.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace base {

/// Name and value of every variable of oneDNN, OpenMP, Open MPI and this program, and of the
/// scheduler's that say what the job was given. Credentials and addresses are left out.
/// `environment` is a null-terminated list of NAME=value, as environ.
nlohmann::json environment_facts(const char* const* environment);

}  // namespace base
