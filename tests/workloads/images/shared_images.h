// Generated images that all ranks see, for tests of trainings.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/base/error.h"
#include "shared_directory.h"
#include "workloads/images/generate.h"

namespace images {

/// 120 training and 21 validation images of three classes.
class SharedImages {
 public:
  explicit SharedImages(const runner::Communicator& world) : folder_(world) {
    if (world.rank() == 0) {
      GenerateOptions options;
      options.output = path() + "/data";
      options.classes = 3;
      options.train_per_class = 40;
      options.validation_per_class = 7;
      options.threads = 1;
      generate_images(options);
    }
    world.barrier();
  }
  const std::string& path() const { return folder_.path(); }
  std::filesystem::path any_image(const std::string& part) const {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(path() + "/data/" + part)) {
      if (entry.is_regular_file()) return entry.path();
    }
    throw base::DataError("no image below " + path());
  }
  /// The sections dataset and staging of a configuration that reads them.
  nlohmann::json sections(const std::string& staging) const {
    return {{"dataset",
             {{"train", path() + "/data/train"},
              {"validation", path() + "/data/validation"},
              {"preprocess", "cifar"},
              {"decode_threads", 1}}},
            {"staging", {{"mode", staging}, {"directory", path() + "/staged"}}}};
  }

 private:
  const runner::SharedDirectory folder_;
};

}  // namespace images
