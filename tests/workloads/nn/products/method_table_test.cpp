// The choice of a product's method: names, and methods that the user requests.
#include "workloads/nn/products/method_table.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/convolution_trial.h"

namespace {

using nn::Method;
using testing::Contains;

TEST(Methods, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const nn::MethodRow& row : nn::method_rows()) {
    const std::string_view name = to_string(row.method);
    EXPECT_EQ(nn::method_named(name), row.method);
    EXPECT_STRNE(row.measured, "");
    names.insert(name);
  }
  for (const nn::LayerRow& row : nn::layer_rows()) {
    EXPECT_EQ(nn::method_named(to_string(row.method)), row.method);
    EXPECT_STRNE(row.measured, "");
    names.insert(to_string(row.method));
  }
  EXPECT_EQ(names.size(), 11u) << "and the library";
  EXPECT_EQ(nn::method_named("library"), Method::kLibrary);
  EXPECT_EQ(nn::method_named("guess"), std::nullopt);
}

std::vector<nn::ProductMethod> methods_of(const convolution_trial::Case& of,
                                          const std::map<std::string, std::string>& wishes = {}) {
  nn::ExecutorOptions options = residual::options_for(of.batch, of.batch);
  options.kernels = tile_kernels();
  options.plan_only = true;
  options.arithmetic.products = nn::Products::kFaster;
  options.arithmetic.methods = wishes;
  nn::Device device;
  const nn::Executor executor(convolution_trial::network_of(of), options, device, nullptr);
  for (const nn::LayerFacts& layer : executor.layers()) {
    if (layer.name == "tested") return layer.methods;
  }
  return {};
}

constexpr convolution_trial::Case kPointwise = {"points", 176, 160, 9, 11, 1, 1};
constexpr char kForwardKey[] = "forward 176->160 k1x1 s1x1 p0x0 of 9x11 f32";

TEST(Methods, AreToldOfEachProductOfAConvolution) {
  const std::vector<nn::ProductMethod> methods = methods_of(kPointwise);
  ASSERT_EQ(methods.size(), 3u);
  EXPECT_EQ(methods[0].product, "forward");
  EXPECT_EQ(methods[0].key, kForwardKey);
  EXPECT_EQ(methods[1].key, "source_gradient 176->160 k1x1 s1x1 p0x0 of 9x11 f32");
  EXPECT_EQ(methods[2].key, "weights_gradient 176->160 k1x1 s1x1 p0x0 of 9x11 f32");
  for (const nn::ProductMethod& one : methods) {
    EXPECT_THAT(one.permitted, Contains(one.method));
    EXPECT_THAT(one.permitted, Contains("library"));
  }
}

TEST(Methods, ThatCannotMakeAProductLeaveItToTheTable) {
  const std::vector<nn::ProductMethod> usual = methods_of(kPointwise);
  const std::vector<nn::ProductMethod> asked =
      methods_of(kPointwise, {{kForwardKey, "gapped"}, {"weights_gradient *", "pairs"}});
  for (std::size_t i = 0; i < usual.size(); ++i) EXPECT_EQ(asked.at(i).method, usual[i].method);
}

TEST(Methods, AreAsAskedForByShapeOrForAll) {
  for (const nn::ProductMethod& one : methods_of(kPointwise)) EXPECT_EQ(one.method, "bf16x3");
  const auto by_shape = methods_of(kPointwise, {{kForwardKey, "library"}});
  EXPECT_EQ(by_shape.at(0).method, "library");
  EXPECT_EQ(by_shape.at(1).method, "bf16x3");
  const auto all = methods_of(kPointwise, {{"forward *", "library"}, {kForwardKey, "bf16x3"}});
  EXPECT_EQ(all.at(0).method, "library");
  const auto other_shape =
      methods_of(kPointwise, {{"forward 176->160 k1x1 s1x1 p0x0 of 9x12 f32", "library"}});
  EXPECT_EQ(other_shape.at(0).method, "bf16x3");
}

}  // namespace
