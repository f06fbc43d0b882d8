// Whether the loaded oneDNN can be trusted on this machine.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <string>

namespace nn {

/// Elements of a 16 x 16 matrix that do not come back unchanged from a layout of padded blocks.
/// Not zero where oneDNN 3 plans with caches of one byte: AMD processors whose hypervisor leaves
/// CPUID leaf 0x8000001D empty. There its copies lose elements and its convolutions divide by zero
/// (github.com/uxlfoundation/oneDNN/issues/5313 has the same on other processors).
std::int64_t elements_lost(const dnnl::engine& engine, dnnl::stream& stream);

/// Throws LibraryError with the version and a remedy if any element was lost.
void refuse_if_lost(std::int64_t elements, const std::string& version);

}  // namespace nn
