// The environment variables that affect measurements, without those that must not be published.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace base {

/// Name and value of every variable of oneDNN, OpenMP, Open MPI and this program, and of the
/// scheduler variables that describe the job's resources. Credentials and addresses are left out.
/// `environment` is a null-terminated list of NAME=value, like environ.
nlohmann::json environment_facts(const char* const* environment);

}  // namespace base
