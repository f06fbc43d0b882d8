// Images of the true and predicted storms of scenes.
#include "workloads/deepcam/mask_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/make_folder.h"
#include "runner/base/replaced_file.h"
#include "staging/dataset/encode.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/model.h"
#include "workloads/nn/layers/segmentation_loss.h"

namespace deepcam {
namespace {

using Colour = std::array<std::uint8_t, 3>;
constexpr std::array<Colour, kClasses> kColours = {{{24, 24, 32}, {240, 144, 32}, {48, 144, 240}}};
constexpr std::int64_t kLine = 4;  ///< pixels between the two masks

void paint(dataset::Image& image, std::int64_t row, std::int64_t column, std::size_t which) {
  const std::ptrdiff_t at = 3 * (row * image.width + column);
  std::copy(kColours[which].begin(), kColours[which].end(), image.pixels.begin() + at);
}

}  // namespace

MaskPictures::MaskPictures(std::int64_t height, std::int64_t width, std::string folder)
    : height_(height), width_(width), folder_(std::move(folder)) {
  base::make_folder(folder_);
}

void MaskPictures::write(std::int64_t, std::int64_t, std::span<const float>,
                         std::span<const std::int32_t>) {
  throw base::Error(base::ExitCode::kInternal, "masks have a label for each point");
}

void MaskPictures::write_targets(std::int64_t first, std::int64_t width,
                                 std::span<const float> outputs, std::span<const float> targets) {
  const auto values = static_cast<std::size_t>(width);
  const std::size_t points = values / kClasses;
  for (std::size_t row = 0; row * values < outputs.size(); ++row) {
    draw(first + static_cast<std::int64_t>(row), outputs.subspan(row * values, values),
         targets.subspan(row * points, points));
  }
}

void MaskPictures::draw(std::int64_t number, std::span<const float> outputs,
                        std::span<const float> labels) const {
  dataset::Image image;
  image.height = static_cast<int>(2 * height_ + kLine);
  image.width = static_cast<int>(width_);
  image.pixels.assign(static_cast<std::size_t>(3 * image.height * image.width), 255);
  for (std::int64_t y = 0; y < height_; ++y) {
    const std::int64_t row = height_ - 1 - y;  // row 0 of a sample is in the south
    for (std::int64_t x = 0; x < width_; ++x) {
      const auto point = static_cast<std::size_t>(y * width_ + x);
      paint(image, row, x, static_cast<std::size_t>(labels[point]));
      paint(image, height_ + kLine + row, x, nn::found_class(outputs, kClasses, point));
    }
  }
  const std::vector<std::byte> bytes = dataset::encode_png(image);
  base::write_file(fmt::format("{}/scene_{:06}.png", folder_, number),
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::unique_ptr<runner::OutputSink> draw_masks(const runner::RunConfig& config,
                                               const std::string& folder) {
  const ModelConfig model = parse_config(config.reader).model;
  return std::make_unique<MaskPictures>(model.height, model.width, folder);
}

}  // namespace deepcam
