// A sink that takes every sample once, in any order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "runner/workload.h"

namespace runner {

class WholeSink final : public OutputSink {
 public:
  /// Of outputs of one number.
  void write(std::int64_t first, std::int64_t width, std::span<const float> rows,
             std::span<const std::int32_t> their_labels) override {
    ASSERT_EQ(width, 1);
    ASSERT_EQ(rows.size(), their_labels.size());
    const auto at = static_cast<std::size_t>(first);
    const std::size_t end = at + rows.size();
    outputs.resize(std::max(outputs.size(), end));
    labels.resize(std::max(labels.size(), end), kMissing);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(labels[at + i], kMissing) << "sample " << at + i << " comes twice";
      outputs[at + i] = rows[i];
      labels[at + i] = their_labels[i];
    }
  }
  static constexpr std::int32_t kMissing = -1;
  std::vector<float> outputs;
  std::vector<std::int32_t> labels;
};

}  // namespace runner
