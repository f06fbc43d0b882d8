// Facts of this build, from generated headers.
#include <nlohmann/json.hpp>
#include <string>

#include "build_configuration.h"
#include "runner/base/system_facts.h"
#include "trainmark_revision.h"

namespace base {

namespace {

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

}  // namespace

nlohmann::json build_facts() {
  return {{"version", TRAINMARK_VERSION},
          {"revision", kRevision},
          {"compiler", compiler()},
          {"build_type", TRAINMARK_BUILD_TYPE},
          {"flags", kBuildFlags},
          {"target", kBuildTarget},
          {"system", kBuildSystem},
          {"built_with", kBuiltWith},
          {"sanitizers", TRAINMARK_SANITIZERS}};
}

}  // namespace base
