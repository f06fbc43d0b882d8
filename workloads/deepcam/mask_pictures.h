// Pictures of the storms in scenes and of those that were found.
// Hides colours and image files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runner/workload.h"

namespace deepcam {

/// Writes `scene_<6-digit number>.png` into a folder for every sample: above the true mask, below
/// that of each point's largest logit, a white line between them. North is up; background is dark,
/// cyclones are orange, rivers blue. Pictures that are there are replaced one by one, and those of
/// an evaluation that fails stay. Throws SystemError where it cannot write.
class MaskPictures final : public runner::OutputSink {
 public:
  MaskPictures(std::int64_t height, std::int64_t width, std::string folder);
  void write(std::int64_t first, std::int64_t width, std::span<const float> outputs,
             std::span<const std::int32_t> labels) override;
  void write_targets(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                     std::span<const float> targets) override;

 private:
  void draw(std::int64_t number, std::span<const float> outputs,
            std::span<const float> labels) const;

  const std::int64_t height_, width_;
  const std::string folder_;
};

std::unique_ptr<runner::OutputSink> draw_masks(const runner::RunConfig& config,
                                               const std::string& folder);

}  // namespace deepcam
