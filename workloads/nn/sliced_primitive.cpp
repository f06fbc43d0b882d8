// A oneDNN primitive, slice by slice.
#include "workloads/nn/sliced_primitive.h"

#include <algorithm>
#include <utility>

#include "runner/base/error.h"

namespace nn {

using dnnl::memory;

void SlicedPrimitive::plan(Planner& planner, const Slices& slices, int moment,
                           const Describe& describe, std::vector<Operand> operands) {
  slices_ = slices;
  plan(planner, slices.sizes(), moment, describe, std::move(operands),
       [](const Operand& operand, std::int64_t samples) {
         return with_samples(operand.desc, samples);
       });
}

void SlicedPrimitive::plan(Planner& planner, const std::vector<std::int64_t>& sizes, int moment,
                           const Describe& describe, std::vector<Operand> operands,
                           const Cut& cut) {
  operands_ = std::move(operands);
  for (const std::int64_t samples : sizes) {
    Variant variant;
    variant.samples = samples;
    variant.description = describe(samples);
    for (const Operand& operand : operands_) {
      variant.operands.push_back(bound_for(planner, variant, operand, moment, cut));
    }
    scratch_bytes_ =
        std::max(scratch_bytes_,
                 static_cast<std::int64_t>(variant.description.scratchpad_desc().get_size()));
    variants_.push_back(std::move(variant));
  }
  const SlicedPrimitive* const other = std::exchange(scratch_of_, nullptr);
  scratch_buffer_ = other != nullptr && other->scratch_bytes_ >= scratch_bytes_
                        ? other->scratch_buffer_
                        : planner.temporary(scratch_bytes_, moment, "scratchpads");
}

SlicedPrimitive::Bound SlicedPrimitive::bound_for(Planner& planner, const Variant& variant,
                                                  const Operand& operand, int moment,
                                                  const Cut& cut) const {
  Bound bound;
  bound.given = operand.extent == Extent::kWhole ? operand.desc : cut(operand, variant.samples);
  if (operand.extent == Extent::kPass) bound.given_sample_bytes = sample_bytes(bound.given);
  bound.wanted = variant.description.query_md(dnnl::query::exec_arg_md, operand.argument);
  if (bound.given == bound.wanted) return bound;
  if (operand.parameter >= 0) bound.copy = planner.copy_weights(operand.parameter, bound.wanted);
  if (!bound.copy) {
    bound.converted_buffer = planner.temporary(static_cast<std::int64_t>(bound.wanted.get_size()),
                                               moment, "converted layouts");
  }
  return bound;
}

void SlicedPrimitive::bind(const Arena& arena, Device& device, const std::vector<void*>& places) {
  device_ = &device;
  places_.clear();
  for (void* const place : places) places_.push_back(static_cast<char*>(place));
  const dnnl::engine& engine = device.engine;
  for (Variant& variant : variants_) {
    variant.primitive = dnnl::primitive(variant.description.get());
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Bound& bound = variant.operands[i];
      if (bound.copy)
        bound.converted = memory(bound.wanted, engine, arena.parameters.copy(*bound.copy));
      if (!bound.is_converted()) continue;
      bound.converted = memory(bound.wanted, engine, arena.at<void>(bound.converted_buffer));
      const bool out = operands_[i].written;
      bound.conversion = dnnl::reorder(dnnl::reorder::primitive_desc(
          engine, out ? bound.wanted : bound.given, engine, out ? bound.given : bound.wanted));
    }
    variant.arguments[DNNL_ARG_SCRATCHPAD] =
        memory(variant.description.scratchpad_desc(), engine, arena.at<void>(scratch_buffer_));
  }
}

std::size_t SlicedPrimitive::variant_of(const Samples& samples) const {
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    if (variants_[i].samples == samples.count) return i;
  }
  throw base::Error(base::ExitCode::kInternal, "a slice of a size that was not planned");
}

memory SlicedPrimitive::given_memory(const Bound& bound, std::size_t operand,
                                     const Samples& samples, void* written_to) const {
  char* place = places_[operand];
  const Operand& what = operands_[operand];
  if (what.extent == Extent::kPass) {
    place += samples.first * bound.given_sample_bytes;
  } else if (what.extent == Extent::kWhole && what.written && written_to != nullptr) {
    place = static_cast<char*>(written_to);
  }
  return {bound.given, device_->engine, place};
}

void SlicedPrimitive::convert_in(Bound& bound, memory given) {
  bound.conversion.execute(device_->stream,
                           {{DNNL_ARG_FROM, given}, {DNNL_ARG_TO, bound.converted}});
}

void SlicedPrimitive::convert_parameters() {
  for (Variant& variant : variants_) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Bound& bound = variant.operands[i];
      if (!is_parameter(i) || !bound.is_converted()) continue;
      convert_in(bound, given_memory(bound, i, {}, nullptr));
    }
  }
}

void SlicedPrimitive::run(const Samples& samples, void* written_to) {
  if (samples.first == 0) convert_parameters();
  Variant& variant = variants_[variant_of(samples)];
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    Bound& bound = variant.operands[i];
    const memory given = given_memory(bound, i, samples, written_to);
    const bool stands_elsewhere = bound.is_converted() || bound.copy;
    variant.arguments[operands_[i].argument] = stands_elsewhere ? bound.converted : given;
    if (bound.is_converted() && !is_parameter(i) && !operands_[i].written) {
      convert_in(bound, given);
    }
  }
  variant.primitive.execute(device_->stream, variant.arguments);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    Bound& bound = variant.operands[i];
    if (!bound.is_converted() || !operands_[i].written) continue;
    bound.conversion.execute(device_->stream,
                             {{DNNL_ARG_FROM, bound.converted},
                              {DNNL_ARG_TO, given_memory(bound, i, samples, written_to)}});
  }
}

std::int64_t SlicedPrimitive::reorders() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    for (const Variant& variant : variants_) {
      count += is_parameter(i) && variant.operands[i].is_converted() ? 1 : 0;
    }
    if (is_parameter(i)) continue;
    for (std::int64_t slice = 0; slice < slices_.count; ++slice) {
      count += variants_[variant_of(slices_.at(slice))].operands[i].is_converted() ? 1 : 0;
    }
  }
  return count;
}

}  // namespace nn
