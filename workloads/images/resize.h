// Resizing a region of an image by the two methods that the references use.
#pragma once

#include <span>

#include "staging/dataset/dataset.h"

namespace images {

using dataset::Region;

/// The size to which a region is resized, and the square window of the result that is computed.
struct Target {
  int height = 0, width = 0;
  int top = 0, left = 0, size = 0;
};

enum class Mirror { kNo, kYes };

/// Bilinear with src = dst * in / out: no half-pixel centre, no antialiasing. kYes mirrors the
/// region before resizing, which with this method differs from mirroring afterwards.
///   out [3, size, size], 0..255. Source: TensorFlow's resize_bilinear without align_corners.
void resize_legacy(const dataset::Image& image, const Region& region, const Target& target,
                   Mirror mirror, std::span<float> out);

/// Triangle filter, widened by the scale when shrinking; columns first, each pass rounded to 8
/// bits.
///   out [3, size, size], 0..255, whole numbers. Source: Pillow's Image.resize(BILINEAR).
void resize_antialiased(const dataset::Image& image, const Region& region, const Target& target,
                        Mirror mirror, std::span<float> out);

}  // namespace images
