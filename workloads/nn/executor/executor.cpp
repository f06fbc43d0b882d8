// Running of a network's schedule.
#include "workloads/nn/executor/executor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "runner/base/error.h"
#include "workloads/nn/accumulation.h"
#include "workloads/nn/layer_traffic.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void Executor::add(const Addition& addition, const Samples& samples) const {
  const std::int64_t first = samples.first * addition.sample_bytes;
  const std::int64_t bytes = samples.count * addition.sample_bytes;
  char* const target = addition.target + first;
  const char* const part = addition.part + first;
  if (addition.is_f32) {
    add_all(kernels_.f32, reinterpret_cast<float*>(target), reinterpret_cast<const float*>(part),
            bytes / static_cast<std::int64_t>(sizeof(float)));
  } else {
    add_all(kernels_.bf16, reinterpret_cast<Bf16*>(target), reinterpret_cast<const Bf16*>(part),
            bytes / static_cast<std::int64_t>(sizeof(Bf16)));
  }
}

std::span<float> Executor::input() const {
  return {at(given_input_ >= 0 ? given_input_ : planner_->value_place(0).buffer), values(0)};
}

std::span<const float> Executor::outputs() const {
  return {at(planner_->value_place(last()).buffer), values(last())};
}

std::span<float> Executor::output_gradient() const {
  return {at(output_gradient_), values(last())};
}

std::vector<float> Executor::read_outputs() const {
  std::vector<float> plain(
      static_cast<std::size_t>(options_.batch * network_.shape(last()).size()));
  reorder(device_, planner_->value_desc(last()), at(planner_->value_place(last()).buffer),
          plain_desc(batch_dims(options_.batch, network_.shape(last()))), plain.data());
  return plain;
}

void Executor::write_output_gradient(std::span<const float> plain) {
  if (static_cast<std::int64_t>(plain.size()) != options_.batch * network_.shape(last()).size()) {
    throw base::ShapeError("executor: the output gradient and the outputs differ in size");
  }
  reorder(device_, plain_desc(batch_dims(options_.batch, network_.shape(last()))), plain.data(),
          planner_->value_desc(last()), at(output_gradient_));
}

void Executor::announce_inputs(const PassSegment& segment, PassListener* listener) const {
  for (const PassStep& step : segment.steps) {
    const Operation& operation = network_.operations()[step.operation];
    for (const ValueId value : {operation.src, operation.features.value_or(-1)}) {
      if (value <= 0 || value >= static_cast<ValueId>(inputs())) continue;
      if (network_.readers(value).front() == step.operation) listener->input_needed(value);
    }
  }
}

void Executor::forward(Mode mode, PassListener* listener) {
  if (mode != Mode::kInference && !options_.training) {
    throw base::Error(base::ExitCode::kInternal, "executor: built for inference alone");
  }
  if (given_input_ >= 0) {
    round_all(kernels_, at(given_input_), at<Bf16>(planner_->value_place(0).buffer),
              static_cast<std::int64_t>(input().size()));
  }
  mode_ = mode;
  const auto& segments = planner_->pass().forward();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const PassSegment& segment = segments[i];
    if (listener != nullptr) {
      announce_inputs(segment, listener);
      listener->weights_needed(needed_[i]);
    }
    for_each_step(segment, &LayerSeconds::forward,
                  [&](const PassStep& step, const Samples& samples) {
                    Layer& layer = *layers_[step.operation];
                    if (step.work == Work::kRun) return layer.forward(mode, samples);
                    if (mode == Mode::kTraining) layer.observe(samples);
                  });
    if (mode != Mode::kTraining) continue;
    for (const std::size_t observed : segment.observed) layers_[observed]->settle();
  }
}

void Executor::backward(bool accumulate, PassListener* listener) {
  const auto& segments = planner_->pass().backward();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for_each_step(segments[i], &LayerSeconds::backward,
                  [&](const PassStep& step, const Samples& samples) {
                    Layer& layer = *layers_[step.operation];
                    if (step.work == Work::kRun) return layer.backward(accumulate, samples);
                    if (step.work == Work::kRecompute) return layer.recompute(samples);
                    if (step.work == Work::kObserve) {
                      if (mode_ == Mode::kTraining) layer.observe_gradient(samples);
                      return;
                    }
                    for (const Addition& addition : additions_[step.operation])
                      add(addition, samples);
                  });
    if (mode_ == Mode::kTraining) {
      for (const std::size_t observed : segments[i].observed) {
        layers_[observed]->settle_gradient(accumulate);
      }
    }
    if (listener == nullptr) continue;
    for (std::size_t input = 0; input < inputs(); ++input) {
      if (input_gradients_[input] < 0) continue;
      const auto value = static_cast<ValueId>(input);
      const std::size_t reader = network_.readers(value).front();
      if (planner_->pass().of(reader).backward == static_cast<int>(i)) {
        listener->input_gradient_ready(value);
      }
    }
    listener->gradients_ready(ready_[i]);
  }
}

template <class Body>
void Executor::for_each_step(const PassSegment& segment, double LayerSeconds::*direction,
                             const Body& body) {
  for (std::int64_t slice = 0; slice < segment.slices.count; ++slice) {
    const Samples samples = segment.slices.at(slice);
    for (const PassStep& step : segment.steps) {
      if (layer_listener_ != nullptr) {
        layer_listener_->layer_begins(network_.operations()[step.operation].name.c_str(),
                                      methods_[step.operation].c_str());
      }
      if (layer_seconds_.empty()) {
        body(step, samples);
      } else {
        const double began = seconds_now();
        body(step, samples);
        layer_seconds_[step.operation].*direction += seconds_now() - began;
      }
      if (layer_listener_ != nullptr) layer_listener_->layer_ends();
    }
  }
}

Products Executor::products() const {
  if (precision() == Precision::kF32) {
    const bool is_in_parts = std::any_of(layers_.begin(), layers_.end(), [](const auto& layer) {
      return layer != nullptr && layer->uses_bf16x3();
    });
    return is_in_parts ? Products::kPairs : Products::kFloats;
  }
  return planner_->products().library();
}

std::int64_t Executor::forward_flops() const {
  return 2 * options_.batch * network_.forward_macs();
}

std::int64_t Executor::training_flops() const {
  std::int64_t macs = 0;
  for (const Operation& operation : network_.operations()) {
    macs += network_.training_macs(operation);
  }
  return 2 * options_.batch * macs;
}

std::int64_t Executor::reorders_per_step() const {
  std::int64_t reorders = 0;
  for (std::size_t i = inputs(); i < layers_.size(); ++i)
    reorders += layers_[i]->reorders_per_step();
  return reorders;
}

std::vector<LayerFacts> Executor::layers() const {
  std::vector<LayerFacts> facts;
  for (std::size_t i = inputs(); i < layers_.size(); ++i) {
    const Operation& operation = network_.operations()[i];
    const auto made = static_cast<ValueId>(i);
    facts.push_back(
        {operation.name, methods_[i], 2 * options_.batch * network_.training_macs(operation),
         operand_bytes(*planner_, made), moved_bytes(*planner_, made, layers_[i]->adds_gradients()),
         layers_[i]->methods()});
  }
  return facts;
}

void Executor::time_layers() { layer_seconds_.assign(layers_.size(), {}); }

std::vector<LayerSeconds> Executor::take_layer_seconds() {
  const auto first = layer_seconds_.begin() + network_.inputs();
  std::vector<LayerSeconds> taken(first, layer_seconds_.end());
  time_layers();
  return taken;
}

std::map<std::string, std::int64_t> Executor::memory_bytes() const {
  std::map<std::string, std::int64_t> bytes;
  for (const auto& [purpose, count] : planner_->memory().unshared_bytes()) {
    bytes["unshared: " + purpose] = count;
  }
  for (const dnnl::memory::desc& desc : planner_->parameter_descs()) {
    bytes["weights"] += static_cast<std::int64_t>(desc.get_size());
  }
  bytes["gradients"] = bytes["weights"];
  for (const auto& copies : planner_->weight_copies()) {
    for (const WeightCopy& copy : copies) bytes["weights in other layouts"] += copy.bytes();
  }
  bytes["activations and scratch"] = planner_->memory().total_bytes();
  return bytes;
}

std::int64_t Executor::gradient_floats() const { return block_floats(planner_->parameter_descs()); }

Executor::MemoryPeak Executor::memory_peak() const {
  const MemoryPlan::Peak peak = planner_->memory().peak();
  const auto& forward = planner_->pass().forward();
  const auto& backward = planner_->pass().backward();
  const auto moment = static_cast<std::size_t>(peak.moment);
  const bool is_forward = moment < forward.size();
  const PassSegment& segment = is_forward ? forward[moment] : backward[moment - forward.size()];
  std::vector<std::string> names;
  for (const PassStep& step : segment.steps) {
    if (step.work == Work::kRun) names.push_back(network_.operations()[step.operation].name);
  }
  return {fmt::format("{} of {}", is_forward ? "forward" : "backward", fmt::join(names, ", ")),
          peak.bytes};
}

}  // namespace nn
