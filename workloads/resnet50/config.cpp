// Parsing of ResNet-50's sections.
#include "workloads/resnet50/config.h"

namespace resnet50 {

Config parse_config(const base::ObjectReader& root) {
  Config config;
  config.model = parse_model(root.object("model", "the network"));
  config.images = images::parse_config(
      root, {.image_size = config.model.image_size, .classes = config.model.classes});
  return config;
}

void check_config(const base::ObjectReader& root) {
  images::check_update(root, parse_config(root).images);
}

}  // namespace resnet50
