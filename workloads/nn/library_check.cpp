// A copy into padded blocks and back, compared with the original.
#include "workloads/nn/library_check.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "runner/base/error.h"

namespace nn {

std::int64_t elements_lost(const dnnl::engine& engine, dnnl::stream& stream) {
  using dnnl::memory;
  constexpr std::int64_t kExtent = 16;
  const memory::dims dims = {kExtent, kExtent};
  const memory::desc plain(dims, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc blocked(dims, memory::data_type::f32, memory::format_tag::AB16b64a);
  std::vector<float> values(kExtent * kExtent), found(values.size());
  std::iota(values.begin(), values.end(), 1.0F);
  memory original(plain, engine, values.data()), blocks(blocked, engine);
  memory copy(plain, engine, found.data());
  dnnl::reorder(original, blocks).execute(stream, original, blocks);
  dnnl::reorder(blocks, copy).execute(stream, blocks, copy);
  stream.wait();
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < values.size(); ++i) lost += values[i] != found[i] ? 1 : 0;
  return lost;
}

void refuse_if_lost(std::int64_t elements, const std::string& version) {
  if (elements == 0) return;
  throw base::LibraryError(fmt::format(
      "oneDNN {} computes wrong results on this machine: of 256 numbers that it copied to another "
      "layout and back, {} are lost. oneDNN 3 does so where a hypervisor hides the sizes of an AMD "
      "processor's caches (CPUID leaf 0x8000001D is empty). Use a virtual machine that shows them, "
      "or oneDNN 2 (as Debian 12 has it)",
      version, elements));
}

}  // namespace nn
