// Pictures of a known class that a convolutional network can learn and a linear classifier cannot.
#pragma once

#include <cstdint>

#include "runner/base/random.h"
#include "staging/dataset/dataset.h"

namespace images {

/// Most classes that can be distinguished: 5 marks, lighter or darker, in each of 3 color planes.
inline constexpr std::int64_t kMaxDrawnClasses = 1000;

/// Draws a `size` x `size` image of class `label` of `classes`. Each color plane shows marks at
/// random places, lighter or darker than its ground. The marks are spots; from 9 classes on also
/// bars, then rings, crosses and frames. The class determines the marks of each plane. With up to 8
/// classes only lighter or darker differs, so all classes have the same mean and the same
/// covariances between pixels, and a linear classifier finds nothing. Places, sizes, angles,
/// contrast, ground colors and noise are drawn from `random`. Throws ConfigError for more classes
/// than kMaxDrawnClasses, or a size below 8.
dataset::Image draw_image(std::int64_t label, std::int64_t classes, int size,
                          base::RandomStream& random);

}  // namespace images
