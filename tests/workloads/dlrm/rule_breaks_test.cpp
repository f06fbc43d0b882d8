// Each choice that the closed division of DLRM forbids, alone.
// Hides nothing.
#include "workloads/dlrm/rule_breaks.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dlrm {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> breaks_of(const char* pointer, const json& value) {
  json object = {{"workload", "dlrm"},
                 {"epochs", 1},
                 {"dataset", {{"train", "a"}, {"test", "b"}}},
                 {"training", {{"global_batch_size", 32}}}};
  object[json::json_pointer(pointer)] = value;
  const base::ObjectReader reader(object, "small.json");
  return closed_rule_breaks(parse_config(reader), make_dense_optimizer(reader)->hyperparameters());
}

TEST(DlrmRuleBreaks, AreNoneWhereNothingIsSaid) {
  EXPECT_THAT(breaks_of("/epochs", 1), IsEmpty());
  EXPECT_THAT(breaks_of("/model/tables", "criteo"), IsEmpty());
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

}  // namespace
}  // namespace dlrm
