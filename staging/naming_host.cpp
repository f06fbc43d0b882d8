// Failures that name the node.
#include "staging/naming_host.h"

#include <exception>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"

namespace staging {

std::string on_this_host(const std::string& message) {
  const std::string begin = base::host_name() + ": ";
  return message.starts_with(begin) ? message : begin + message;
}

void rethrow_naming_host() {
  try {
    throw;
  } catch (const runner::AgreedError&) {
    throw;
  } catch (const std::exception& e) {
    const base::Failure found = base::failure_of(e);
    if (found.code == base::ExitCode::kData) throw base::DataError(on_this_host(found.message));
    if (found.code == base::ExitCode::kSystem) throw base::SystemError(on_this_host(found.message));
    throw;
  }
}

}  // namespace staging
