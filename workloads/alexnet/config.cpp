// Parsing of AlexNet's sections.
#include "workloads/alexnet/config.h"

namespace alexnet {

Config parse_config(const base::ObjectReader& root) {
  Config config;
  config.model = parse_model(root.object("model", "the network"));
  const bool has_norms = config.model.normalization != Normalization::kResponse;
  config.images = images::parse_config(
      root, {.image_size = config.model.image_size,
             .classes = config.model.classes,
             .has_norms = has_norms,
             .preprocess = has_norms ? images::Style::kCaffeScaled : images::Style::kCaffe});
  return config;
}

void check_config(const base::ObjectReader& root) {
  images::check_update(root, parse_config(root).images);
}

}  // namespace alexnet
