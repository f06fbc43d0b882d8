// The version of the loaded oneDNN.
#include "workloads/nn/version.h"

#include <fmt/format.h>

#include <dnnl.hpp>

namespace nn {

std::string library_version() {
  const dnnl_version_t* version = dnnl::version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace nn
