// What fully connected layers refuse.
#include <gmock/gmock.h>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "workloads/nn/network.h"

namespace {

TEST(FullyConnected, RefusesAReluBehindPoints) {
  nn::Network network;
  const nn::ValueId mean = network.global_average_pool(network.input({8, {4, 4}}));
  const auto with_relu = [&](bool relu) {
    nn::FullyConnectedSpec spec;
    spec.name = "fc";
    spec.outputs = 3;
    spec.relu = relu;
    return network.fully_connected(mean, spec);
  };
  EXPECT_THAT(base::thrown_message<base::ShapeError>([&] { with_relu(true); }),
              testing::HasSubstr("fc: expected a source that is an input, fully connected or an "
                                 "interaction before its ReLU, got global_average_pool"));
  EXPECT_NO_THROW(with_relu(false));
}

}  // namespace
