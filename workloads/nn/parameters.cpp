// Storage, initialisation and conversion of parameters.
#include "workloads/nn/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/random.h"

namespace nn {
namespace {

/// Weights are drawn in pieces of this many elements, each from its own random stream, so that
/// threads can share the work.
constexpr std::int64_t kPiece = 16384;

double draw(const Initializer& initializer, base::RandomStream& stream) {
  switch (initializer.distribution) {
    case Distribution::kConstant:
      return initializer.constant;
    case Distribution::kNormal:
      return initializer.spread * stream.normal();
    case Distribution::kTruncatedNormal:
      return initializer.spread * stream.truncated_normal();
    case Distribution::kUniform:
      return stream.uniform(-initializer.spread, initializer.spread);
  }
  throw base::Error(base::ExitCode::kInternal, "unknown initializer");
}

std::int64_t layout_floats(const dnnl::memory::desc& layout) {
  return static_cast<std::int64_t>(layout.get_size() / sizeof(float));
}

}  // namespace

std::int64_t block_floats(const std::vector<dnnl::memory::desc>& layouts) {
  std::int64_t floats = 0;
  for (const dnnl::memory::desc& layout : layouts) floats += aligned_floats(layout_floats(layout));
  return floats;
}

Parameters::Parameters(const Network& network, std::vector<dnnl::memory::desc> descs,
                       const PlannedCopies& copies, Device& device,
                       std::shared_ptr<ParameterMemory> memory)
    : specs_(network.parameters()),
      descs_(std::move(descs)),
      offsets_(specs_.size()),
      device_(device),
      memory_(std::move(memory)) {
  std::int64_t offset = 0;
  for (std::size_t i = specs_.size(); i-- > 0;) {
    offsets_[i] = offset;
    offset += aligned_count(static_cast<ParameterId>(i));
  }
  const std::int64_t total = block_floats(descs_);
  weights_ = memory_->shared_block(total);
  place_copies(copies);
  gradients_ = memory_->own_block(total);
}

/// Places all copies in one block, which replicas share like the weights.
void Parameters::place_copies(const PlannedCopies& copies) {
  const auto floats_of = [](const WeightCopy& copy) {
    return aligned_floats((copy.bytes() + 3) / static_cast<std::int64_t>(sizeof(float)));
  };
  std::int64_t total = 0;
  for (const auto& of_parameter : copies) {
    for (const WeightCopy& copy : of_parameter) total += floats_of(copy);
  }
  copies_.resize(specs_.size());
  if (total == 0) return;
  float* at = memory_->shared_block(total).data();
  for (std::size_t i = 0; i < copies.size(); ++i) {
    for (const WeightCopy& copy : copies[i]) {
      copies_[i].push_back({copy, at});
      at += floats_of(copy);
    }
  }
}

std::int64_t Parameters::count(ParameterId id) const { return layout_floats(desc(id)); }

std::int64_t Parameters::aligned_count(ParameterId id) const { return aligned_floats(count(id)); }

std::vector<ParameterView> Parameters::views() const {
  std::vector<ParameterView> views;
  for (std::size_t i = specs_.size(); i-- > 0;) {
    const auto id = static_cast<ParameterId>(i);
    views.push_back({specs_[i].name, weights(id), gradient(id), count(id), specs_[i].decays,
                     offset(id), copies_[i]});
  }
  return views;
}

std::vector<float> initial_values(const ParameterSpec& spec, std::uint64_t seed) {
  std::vector<float> plain(static_cast<std::size_t>(spec.count()));
  const std::int64_t pieces = base::ceil_div(spec.count(), kPiece);
  const std::uint64_t name = base::hash_name(spec.name);
#pragma omp parallel for schedule(static)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    base::RandomStream stream(seed, base::Purpose::kWeights, static_cast<std::uint64_t>(piece),
                              name);
    const std::int64_t end = std::min(spec.count(), (piece + 1) * kPiece);
    for (std::int64_t at = piece * kPiece; at < end; ++at) {
      plain[static_cast<std::size_t>(at)] = static_cast<float>(draw(spec.initializer, stream));
    }
  }
  return plain;
}

void Parameters::initialize(std::uint64_t seed) {
  for (std::size_t i = 0; is_writer() && i < specs_.size(); ++i) {
    write_weights(static_cast<ParameterId>(i), initial_values(specs_[i], seed));
  }
  publish();
}

std::vector<float> Parameters::to_plain(ParameterId id, std::span<const float> elements) const {
  const ParameterSpec& spec = specs_.at(static_cast<std::size_t>(id));
  std::vector<float> plain(static_cast<std::size_t>(spec.count()));
  reorder(device_, desc(id), elements.data(), plain_desc(spec.shape), plain.data());
  return plain;
}

void Parameters::require_count(ParameterId id, std::span<const float> plain) const {
  const ParameterSpec& spec = specs_.at(static_cast<std::size_t>(id));
  if (static_cast<std::int64_t>(plain.size()) == spec.count()) return;
  throw base::ShapeError(
      fmt::format("{}: expected {} values, got {}", spec.name, spec.count(), plain.size()));
}

void Parameters::from_plain(ParameterId id, std::span<const float> plain,
                            std::span<float> elements) const {
  require_count(id, plain);
  const ParameterSpec& spec = specs_.at(static_cast<std::size_t>(id));
  reorder(device_, plain_desc(spec.shape), plain.data(), desc(id), elements.data());
}

std::vector<float> Parameters::read_weights(ParameterId id) const {
  return to_plain(id, {weights(id), static_cast<std::size_t>(count(id))});
}

std::vector<float> Parameters::read_gradient(ParameterId id) const {
  return to_plain(id, {gradient(id), static_cast<std::size_t>(count(id))});
}

void Parameters::write_weights(ParameterId id, std::span<const float> plain) {
  require_count(id, plain);
  if (!is_writer()) return;
  from_plain(id, plain, {weights(id), static_cast<std::size_t>(count(id))});
  for (const KeptCopy& copy : copies_.at(static_cast<std::size_t>(id))) {
    copy.rule.update(weights(id), 0, count(id), copy.place);
  }
}

std::uint64_t Parameters::weights_hash() const {
  // FNV-1a on 64-bit words in eight lanes, which break the chain of dependent multiplications.
  constexpr std::uint64_t kPrime = 0x100000001b3ULL;
  constexpr std::size_t kHashLanes = 8;
  std::uint64_t lanes[kHashLanes];
  for (std::size_t lane = 0; lane < kHashLanes; ++lane) lanes[lane] = 0xcbf29ce484222325ULL + lane;
  const std::span<float> all = weights_;  // a multiple of 16 floats
  std::uint64_t words[kHashLanes];
  for (std::size_t at = 0; at + 2 * kHashLanes <= all.size(); at += 2 * kHashLanes) {
    std::memcpy(words, all.data() + at, sizeof words);
    for (std::size_t lane = 0; lane < kHashLanes; ++lane)
      lanes[lane] = (lanes[lane] ^ words[lane]) * kPrime;
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t lane : lanes) hash = (hash ^ lane) * kPrime + (hash >> 29);
  return hash;
}

bool Parameters::is_finite() const {
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite)
  for (std::size_t i = 0; i < weights_.size(); ++i) finite = finite && std::isfinite(weights_[i]);
  return finite;
}

}  // namespace nn
