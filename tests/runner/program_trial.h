// The toy program's runs, whose telemetry must account for all their time.
#pragma once

#include "runner/toy_run.h"
#include "telemetry_account.h"

namespace runner {

class ProgramTest : public outside::ToyRun {
 protected:
  void TearDown() override { telemetry::expect_whole_accounts(folder_); }

  std::filesystem::path result(const std::string& ending) const {
    return results("result_" + ending);
  }
};

}  // namespace runner
