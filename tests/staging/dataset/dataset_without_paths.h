// A dataset whose samples have no paths, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"

namespace dataset {

/// Gives the samples of another dataset, like a staged copy.
class DatasetWithoutPaths final : public Dataset {
 public:
  explicit DatasetWithoutPaths(const Dataset& source) : source_(source) {}
  std::int64_t size() const override { return source_.size(); }
  const std::vector<std::string>& class_names() const override { return source_.class_names(); }
  std::int32_t label(std::int64_t index) const override { return source_.label(index); }
  std::int64_t bytes(std::int64_t index) const override { return source_.bytes(index); }
  std::string name(std::int64_t index) const override { return source_.name(index); }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    source_.read(index, out);
  }

 private:
  const Dataset& source_;
};

}  // namespace dataset
