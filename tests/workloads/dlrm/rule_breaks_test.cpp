// Tests of each choice that the closed division of DLRM forbids.
#include "workloads/dlrm/rule_breaks.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dlrm {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json small_config() {
  return {{"workload", "dlrm"},
          {"epochs", 1},
          {"dataset", {{"train", "a"}, {"test", "b"}}},
          {"training", {{"global_batch_size", 32}}}};
}

std::vector<std::string> breaks_of(const char* pointer, const json& value) {
  json object = small_config();
  object[json::json_pointer(pointer)] = value;
  const base::ObjectReader reader(object, "small.json");
  return closed_rule_breaks(parse_config(reader), make_dense_optimizer(reader)->hyperparameters());
}

TEST(DlrmRuleBreaks, AreNoneWhereNothingIsSaid) {
  EXPECT_THAT(breaks_of("/epochs", 1), IsEmpty());
  EXPECT_THAT(breaks_of("/model/tables", "criteo"), IsEmpty());
}

TEST(DlrmRuleBreaks, AreNoneForTheReferencesSizes) {
  EXPECT_THAT(breaks_of("/model", {{"dense_features", 13},
                                   {"embedding_width", 128},
                                   {"bottom", {512, 256, 128}},
                                   {"top", {1024, 1024, 512, 256, 1}},
                                   {"tables", "criteo"}}),
              IsEmpty());
  EXPECT_THAT(breaks_of("/dataset/max_ind_range", 40'000'000), IsEmpty());
  EXPECT_THAT(breaks_of("/dataset/max_ind_range", 0), IsEmpty());
}

TEST(DlrmRuleBreaks, TellWhatIsNotTheReferences) {
  EXPECT_THAT(breaks_of("/embeddings/optimizer", "adagrad"),
              ElementsAre("/embeddings/optimizer: the closed division trains tables by sgd, got "
                          "adagrad"));
  EXPECT_THAT(breaks_of("/optimizer/name", "adagrad"),
              ElementsAre("/optimizer/name: the closed division trains layers by sgd, got "
                          "adagrad"));
  EXPECT_THAT(breaks_of("/optimizer/momentum", 0.9),
              ElementsAre("/optimizer/momentum: the closed division has none, got 0.9"));
  EXPECT_THAT(breaks_of("/optimizer/weight_decay", 0.001),
              ElementsAre("/optimizer/weight_decay: the closed division has none, got 0.001"));
  EXPECT_THAT(breaks_of("/model/tables", "capped:1000000"),
              ElementsAre("/model/tables: the closed division trains all rows of criteo's tables, "
                          "got others"));
}

TEST(DlrmRuleBreaks, TellWhichSizesAreNotTheReferences) {
  EXPECT_THAT(breaks_of("/model/dense_features", 14),
              ElementsAre("/model/dense_features: the closed division has 13, got 14"));
  // The last bottom layer must have the width of an embedding.
  EXPECT_THAT(breaks_of("/model", {{"embedding_width", 64}, {"bottom", {512, 256, 64}}}),
              ElementsAre("/model/embedding_width: the closed division has 128, got 64",
                          "/model/bottom: the closed division has [512, 256, 128], got [512, 256, "
                          "64]"));
  EXPECT_THAT(breaks_of("/model/bottom", {512, 128}),
              ElementsAre("/model/bottom: the closed division has [512, 256, 128], got [512, "
                          "128]"));
  EXPECT_THAT(breaks_of("/model/top", {512, 256, 1}),
              ElementsAre("/model/top: the closed division has [1024, 1024, 512, 256, 1], got "
                          "[512, 256, 1]"));
  EXPECT_THAT(breaks_of("/dataset/max_ind_range", 39'999'999),
              ElementsAre("/dataset/max_ind_range: the closed division takes ids modulo 40000000, "
                          "or as they are (0), got 39999999"));
}

}  // namespace
}  // namespace dlrm
