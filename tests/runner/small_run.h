// Runs of the program on a few small images, for tests from outside.
#pragma once

#include <algorithm>
#include <string>

#include "runner/generated_run.h"

namespace outside {

class SmallRun : public GeneratedRun {
 protected:
  SmallRun() : GeneratedRun("resnet50", images(6)) {}

  /// Options that generate two classes with two validation images each.
  static std::string images(int train_per_class) {
    return "--classes 2 --train-per-class " + std::to_string(train_per_class) +
           " --validation-per-class 2 --image-size 32";
  }

  json config() const override {
    json config = usual_config();
    config["epochs"] = 1;
    config["dataset"]["preprocess"] = "cifar";
    config["model"] = {{"depth", 26}, {"width", 8}, {"image_size", 32}, {"classes", 2}};
    config["training"] = {{"global_batch_size", 4}, {"bn_group_samples", 2}};
    config["optimizer"] = {{"name", "sgd"}};
    // Batch norms over two samples make large gradients: a larger rate would diverge.
    config["schedule"] = {{"name", "constant"}, {"learning_rate", 0.0001}};
    return config;
  }

  fs::path an_image() const { return *fs::directory_iterator(folder_ / "data/train/" / a_class()); }
  std::string a_class() const {
    return fs::directory_iterator(folder_ / "data/train")->path().filename().string();
  }
  std::string last_record() const {
    std::istringstream log(content(result("1.txt")));
    std::string last;
    for (std::string line; std::getline(log, line);) last = line;
    return last;
  }

  /// The last image below `folder`, which belongs to the last rank.
  std::string last_image(const std::string& folder) const {
    fs::path last;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / folder)) {
      if (entry.is_regular_file()) last = std::max(last, entry.path());
    }
    return last.string();
  }
};

}  // namespace outside
