// Simulated climate samples: smooth weather with storms added.
#pragma once

#include <cstdint>

#include "staging/dataset/climate.h"
#include "workloads/deepcam/climate_fields.h"
#include "workloads/deepcam/climate_grid.h"
#include "workloads/deepcam/climate_storms.h"

namespace deepcam {

/// Sets of samples; the values enter the hash.
enum class SampleSet : std::uint64_t { kTrain, kValidation };

/// A sample is a pure function of the arguments of draw() and the extents: the same on any thread,
/// except for the last bits of the standard library's exp, log and cos. Holds scratch memory: each
/// thread needs its own.
class ClimateSimulator {
 public:
  /// Extents as for ClimateFields.
  ClimateSimulator(std::int64_t height, std::int64_t width);
  /// Memory of one simulator in bytes, without the sample.
  static std::int64_t scratch_bytes(std::int64_t height, std::int64_t width);
  /// Draws into `sample`, reusing its memory.
  void draw(std::uint64_t seed, SampleSet set, std::int64_t index, dataset::ClimateSample& sample);
  /// The storms that draw() adds.
  static Storms storms_of(std::uint64_t seed, SampleSet set, std::int64_t index);

 private:
  void draw_background(std::uint64_t stream, dataset::ClimateSample& sample);
  void set_flow(dataset::ClimateSample& sample) const;
  template <class Set>
  void for_each_point(const Set& set) const;

  const ClimateGrid grid_;
  ClimateFields fields_;
  Plane first_, second_;
};

}  // namespace deepcam
