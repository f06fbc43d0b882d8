// A oneDNN primitive that goes over a pass's samples slice by slice.
// Hides one primitive for each size of slice, the places of operands, scratchpads, and the reorders
// that oneDNN's choice of layouts makes necessary.
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

/// What the memory of an operand holds.
enum class Extent {
  kPass,   ///< all samples of the pass
  kSlice,  ///< the samples of the current slice
  kWhole   ///< a parameter, or its gradient: the same for all slices
};
inline Extent extent_of(const ValuePlace& place) {
  return place.is_slice ? Extent::kSlice : Extent::kPass;
}

/// An operand of a primitive, as the engine stores it.
struct Operand {
  int argument = 0;         ///< DNNL_ARG_...
  dnnl::memory::desc desc;  ///< of the whole pass, or of a parameter
  Extent extent = Extent::kPass;
  bool written = false;
  ParameterId parameter = -1;  ///< whose weights these are, else -1
};

class SlicedPrimitive {
 public:
  /// Describes the primitive for a number of samples.
  using Describe = std::function<dnnl::primitive_desc(std::int64_t samples)>;
  /// The descriptor of an operand's memory for a number of samples.
  using Cut = std::function<dnnl::memory::desc(const Operand& operand, std::int64_t samples)>;
  /// All slices are executed at `moment`. Throws what `describe` throws.
  void plan(Planner& planner, const Slices& slices, int moment, const Describe& describe,
            std::vector<Operand> operands);
  /// For slices of these sizes, where the memory of every operand holds the current slice alone.
  void plan(Planner& planner, const std::vector<std::int64_t>& sizes, int moment,
            const Describe& describe, std::vector<Operand> operands, const Cut& cut);
  bool planned() const { return !variants_.empty(); }
  /// Uses the scratchpad of `other`, if it is large enough: a primitive planned for the same moment
  /// that does not run at the same time. To be called before plan().
  void share_scratch(const SlicedPrimitive& other) { scratch_of_ = &other; }
  /// `places`: memory of the operands, in their order.
  void bind(const Arena& arena, Device& device, const std::vector<void*>& places);
  /// `samples` is one of the planned slices. Parameters are converted for the first slice.
  /// `written_to`, unless null, receives their gradients in place of the bound memory.
  void run(const Samples& samples, void* written_to = nullptr);

  /// Layout conversions of a pass; those of parameters alone if planned for sizes.
  std::int64_t reorders() const;
  std::string implementation() const { return variants_.front().description.impl_info_str(); }

 private:
  /// An operand for slices of one size.
  struct Bound {
    dnnl::memory::desc given, wanted;
    std::int64_t given_sample_bytes = 0;  ///< if the operand holds all samples of the pass
    std::optional<CopyId> copy;           ///< if weights are also kept as wanted
    BufferId converted_buffer = -1;       ///< else, if given and wanted differ; -1: none
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

  Slices slices_ = {0, 0};  ///< none if planned for sizes
  std::vector<Operand> operands_;
  std::vector<char*> places_;
  std::vector<Variant> variants_;
  const SlicedPrimitive* scratch_of_ = nullptr;  ///< until planned
  std::int64_t scratch_bytes_ = 0;
  BufferId scratch_buffer_ = -1;
  Device* device_ = nullptr;
};

}  // namespace nn
