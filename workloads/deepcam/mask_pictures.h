// Images of the true and predicted storms of scenes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runner/workload.h"

namespace deepcam {

/// Writes `scene_<6-digit number>.png` into a folder for every sample: the true mask above, the
/// mask of each pixel's largest logit below, and a white line between them. North is up; background
/// is dark, cyclones are orange, rivers blue. Existing images are replaced one by one, so those of
/// an evaluation that fails remain. Throws SystemError when it cannot write.
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
