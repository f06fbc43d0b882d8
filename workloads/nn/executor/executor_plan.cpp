// Planning of a network's schedule: forward layouts, backward needs, placement, binding.
#include <fmt/format.h>

#include <algorithm>

#include "runner/base/error.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/executor/make_layer.h"

namespace nn {
namespace {

void require_arithmetic(const Network& network, const ExecutorOptions& options) {
  const Arithmetic& arithmetic = options.arithmetic;
  if (arithmetic.precision == Precision::kBf16 && !options.kernels.get().has_pairs()) {
    throw base::ConfigError(
        fmt::format("precision bf16: expected a CPU with avx512_bf16, this one offers {}; f32 runs "
                    "everywhere",
                    base::to_string(options.kernels.get().set)));
  }
  for (const std::string& name : arithmetic.f32_layers) {
    const auto& all = network.operations();
    const bool is_there = std::any_of(all.begin(), all.end(), [&](const Operation& operation) {
      return operation.kind == OperationKind::kConvolution && operation.name == name;
    });
    if (!is_there) throw base::ConfigError("f32_layers: expected convolutions, got " + name);
  }
}

/// With one block of 16 channels, nChw16c and channels last are the same memory, and oneDNN's
/// convolutions prefer blocks.
dnnl::memory::desc input_desc(const SampleShape& shape, const dnnl::memory::dims& dims,
                              dnnl::memory::data_type type) {
  constexpr std::int64_t kBlock = 16;
  if (shape.channels_last && shape.channels == kBlock && shape.spatial.size() == 2) {
    return {dims, type, dnnl::memory::format_tag::nChw16c};
  }
  const bool is_last = shape.margin > 0 || shape.channels_last;
  return is_last ? channels_last_desc(dims, type) : plain_desc(dims, type);
}

}  // namespace

Executor::Executor(const Network& network, const ExecutorOptions& options, Device& device,
                   StatisticsExchange* exchange)
    : network_(network),
      options_(options),
      kernels_(options.kernels),
      device_(device),
      statistics_(network_) {
  if (options.batch < 1) throw base::ShapeError("executor: a pass needs at least one sample");
  require_arithmetic(network_, options_);
  plan(true);
  if (options.plan_only) return;
  const auto memory = options.memory ? options.memory : std::make_shared<PrivateMemory>();
  // Replicas with another number of samples may choose other products, and so other copies.
  if (!memory->agree(planner_->layouts_hash())) {
    plan(false);
    if (!memory->agree(planner_->layouts_hash())) {
      throw base::Error(base::ExitCode::kInternal,
                        "replicas that share weights chose different layouts for them");
    }
  }
  parameters_ = std::make_unique<Parameters>(network_, planner_->parameter_descs(),
                                             planner_->weight_copies(), device, memory);
  block_ =
      AlignedFloats(planner_->memory().total_bytes() / static_cast<std::int64_t>(sizeof(float)));
  bind(exchange);
}

Executor::~Executor() = default;

void Executor::plan(bool copies_weights) {
  const Planner::Options plan = {options_.batch,     options_.training,   options_.accumulates,
                                 options_.groups,    options_.arithmetic, options_.slice_samples,
                                 options_.recompute, options_.caches,     copies_weights};
  layers_.clear();
  planner_ = std::make_unique<Planner>(network_, plan, device_, kernels_);
  plan_forward(*planner_);
  if (options_.training) plan_backward(*planner_);
  planner_->memory().place();
  methods_.resize(layers_.size());
  for (std::size_t i = inputs(); i < layers_.size(); ++i) {
    methods_[i] = layers_[i]->implementation();
  }
}

void Executor::plan_forward(Planner& planner) {
  const auto& operations = network_.operations();
  layers_.resize(operations.size());
  for (std::size_t i = 0; i < inputs(); ++i) {
    planner.at(i);
    const auto dims = batch_dims(options_.batch, operations[i].dst);
    const bool is_typed = operations[i].dst.margin > 0 || operations[i].dst.channels_last;
    planner.define_value(input_desc(operations[i].dst, dims, planner.value_type()));
    if (i > 0 || is_typed || options_.arithmetic.precision == Precision::kF32) continue;
    given_input_ = planner.temporary(static_cast<std::int64_t>(plain_desc(dims).get_size()), 0,
                                     "inputs as given");
  }
  for (std::size_t i = inputs(); i < operations.size(); ++i) {
    planner.at(i);
    layers_[i] = make_layer(operations[i], planner);
  }
}

void Executor::plan_backward(Planner& planner) {
  const auto& operations = network_.operations();
  output_gradient_ = planner.contribute_from_outside(last());
  for (std::size_t i = operations.size(); i-- > inputs();) {
    planner.at(i);
    if (planner.incoming().empty()) {
      throw base::ShapeError(operations[i].name + ": no operation reads its value");
    }
    layers_[i]->plan_backward(planner);
  }
  input_gradients_.assign(inputs(), -1);
  for (std::size_t i = 0; i < inputs(); ++i) {
    if (!operations[i].wants_gradient) continue;
    planner.at(i);
    if (planner.incoming().size() != 1) {
      throw base::ShapeError(operations[i].name +
                             ": its gradient is wanted, so expected one reader");
    }
    input_gradients_[i] = planner.incoming().front();
  }
}

void Executor::bind(StatisticsExchange* exchange) {
  const auto& operations = network_.operations();
  const Arena arena = {planner_->memory(),
                       block_.data(),
                       *parameters_,
                       statistics_,
                       options_.training ? &options_.groups : nullptr,
                       exchange,
                       &streams_,
                       options_.volumes};
  additions_.resize(operations.size());
  for (std::size_t i = operations.size(); i-- > inputs();) {
    layers_[i]->bind(arena);
    if (!options_.training) continue;
    planner_->at(i);
    const std::vector<BufferId>& parts = planner_->incoming();
    const std::size_t fused = layers_[i]->adds_gradients() ? 2 : 1;
    const dnnl::memory::desc& desc = planner_->value_desc(static_cast<ValueId>(i));
    for (std::size_t part = fused; part < parts.size(); ++part) {
      additions_[i].push_back({arena.at<char>(parts.front()), arena.at<char>(parts[part]),
                               sample_bytes(desc), type_of(desc) == dnnl::memory::data_type::f32});
    }
  }
  const auto each_parameter = [&](const PassSegment& segment, const auto& take) {
    for (const PassStep& step : segment.steps) {
      const Operation& operation = operations[step.operation];
      for (const ParameterId id : {operation.weights, operation.bias}) {
        if (id >= 0) take(id, step.work);
      }
    }
  };
  auto needed = static_cast<std::int64_t>(parameters_->all_weights().size());
  for (const PassSegment& segment : planner_->pass().forward()) {
    each_parameter(
        segment, [&](ParameterId id, Work) { needed = std::min(needed, parameters_->first(id)); });
    needed_.push_back(needed);
  }
  std::int64_t ready = 0;
  for (const PassSegment& segment : planner_->pass().backward()) {
    each_parameter(segment, [&](ParameterId id, Work work) {
      if (work == Work::kRun) ready = std::max(ready, parameters_->prefix(id));
    });
    ready_.push_back(ready);
  }
}

}  // namespace nn
