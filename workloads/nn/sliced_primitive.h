// A primitive of the library that goes over a pass's samples slice by slice.
// Hides one primitive for each size of slice, where operands stand, scratchpads, and the reorders
// that the library's choice of layouts makes necessary.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/nn/layer.h"

namespace nn {

/// What stands at an operand's place.
enum class Extent {
  kPass,   ///< all samples of the pass
  kSlice,  ///< the samples of the slice at hand
  kWhole   ///< a parameter, or its gradient: the same for all slices
};
inline Extent extent_of(const ValuePlace& place) {
  return place.is_slice ? Extent::kSlice : Extent::kPass;
}

/// What a primitive reads or writes, as the engine keeps it.
struct Operand {
  int argument = 0;         ///< DNNL_ARG_...
  dnnl::memory::desc desc;  ///< of the whole pass, or of a parameter
  Extent extent = Extent::kPass;
  bool written = false;
  ParameterId parameter = -1;  ///< whose weights these are, else -1
};

class SlicedPrimitive {
 public:
  /// Describes the primitive for so many samples.
  using Describe = std::function<dnnl::primitive_desc(std::int64_t samples)>;
  /// What stands at an operand's place while so many samples are at hand.
  using Cut = std::function<dnnl::memory::desc(const Operand& operand, std::int64_t samples)>;
  /// `moment`: of all its slices. Throws what `describe` throws.
  void plan(Planner& planner, const Slices& slices, int moment, const Describe& describe,
            std::vector<Operand> operands);
  /// For slices of these sizes, of which only what is at hand stands at any operand's place.
  void plan(Planner& planner, const std::vector<std::int64_t>& sizes, int moment,
            const Describe& describe, std::vector<Operand> operands, const Cut& cut);
  bool planned() const { return !variants_.empty(); }
  /// From now on scratchpads are those of `other`, where these are large enough: of one that is
  /// planned for the same moment and does not run at the same time. Before plan().
  void share_scratch(const SlicedPrimitive& other) { scratch_of_ = &other; }
  /// `places`: of the operands, in their order.
  void bind(const Arena& arena, Device& device, const std::vector<void*>& places);
  /// `samples` is a slice of the slices planned with. Parameters are converted for the first
  /// one. `written_to` takes the place of their gradients, unless null.
  void run(const Samples& samples, void* written_to = nullptr);

  /// Conversions between layouts in a pass; of parameters alone where planned for sizes.
  std::int64_t reorders() const;
  std::string implementation() const { return variants_.front().description.impl_info_str(); }

 private:
  /// An operand for slices of one size.
  struct Bound {
    dnnl::memory::desc given, wanted;
    std::optional<CopyId> copy;      ///< weights that are kept as wanted
    BufferId converted_buffer = -1;  ///< where they differ otherwise
    dnnl::memory converted;
    dnnl::primitive conversion;
    bool is_converted() const { return converted_buffer >= 0; }
  };
  struct Variant {
    std::int64_t samples = 0;
    dnnl::primitive_desc description;
    dnnl::primitive primitive;
    std::vector<Bound> operands;
    std::unordered_map<int, dnnl::memory> arguments;
  };
  bool is_parameter(std::size_t operand) const {
    return operands_[operand].extent == Extent::kWhole && !operands_[operand].written;
  }
  std::size_t variant_of(const Samples& samples) const;
  Bound bound_for(Planner& planner, const Variant& variant, const Operand& operand, int moment,
                  const Cut& cut) const;
  dnnl::memory given_memory(const Bound& bound, std::size_t operand, const Samples& samples,
                            void* written_to) const;
  void convert_in(Bound& bound, dnnl::memory given);
  void convert_parameters();

  Slices slices_ = {0, 0};  ///< none where planned for sizes alone
  std::vector<Operand> operands_;
  std::vector<char*> places_;
  std::vector<Variant> variants_;
  const SlicedPrimitive* scratch_of_ = nullptr;  ///< while planned
  std::int64_t scratch_bytes_ = 0;
  BufferId scratch_buffer_ = -1;
  Device* device_ = nullptr;
};

}  // namespace nn
