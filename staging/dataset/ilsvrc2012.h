// ImageNet's own numbers of the classes of its challenge of 2012.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/embedded_file.h"

namespace dataset {

/// WordNet ids ("n02119789") in the order of ImageNet's own numbers: that of number 1 is the first.
std::vector<std::string> ilsvrc2012_wordnet_ids();

/// Whether these are the lines of ILSVRC2012_validation_ground_truth.txt of the development kit,
/// which labels the 50,000 validation images, in the order of their names, by those numbers.
bool is_ilsvrc2012_ground_truth(const std::vector<std::string>& lines);

/// Whether each name is 'n' and eight digits.
bool are_wordnet_ids(const std::vector<std::string>& names);

/// configs/ilsvrc2012.json.
std::span<const base::EmbeddedFile> embedded_imagenet();

}  // namespace dataset
