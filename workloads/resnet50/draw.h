// Pictures of a known class that a convolutional network learns and a linear classifier cannot.
// Hides marks, colors and noise.
#pragma once

#include <cstdint>

#include "runner/base/random.h"
#include "staging/dataset/dataset.h"

namespace resnet50 {

/// Most classes that can be told apart: 5 marks, lighter or darker, in each of 3 color planes.
inline constexpr std::int64_t kMaxDrawnClasses = 1000;

/// An image of `size` x `size` of class `label` of `classes`. Each color plane shows marks (spots,
/// from 9 classes on bars too, then rings, crosses, frames) at random places, lighter or darker
/// than its ground; the class says which in each plane. Up to 8 classes only light against dark
/// decides, so all classes have the same mean and the same covariances between pixels, and a linear
/// classifier has nothing to find. Places, sizes, angles, contrast, ground colors and noise are
/// drawn from `random`. Throws ConfigError for classes beyond kMaxDrawnClasses or a size below 8.
dataset::Image draw_image(std::int64_t label, std::int64_t classes, int size,
                          base::RandomStream& random);

}  // namespace resnet50
