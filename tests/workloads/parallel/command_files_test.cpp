// Files that bench and stage read and write, from outside.
#include <gmock/gmock.h>

#include <fstream>

#include "runner/from_outside.h"

namespace {

using outside::content;
using outside::Ended;
using testing::HasSubstr;

using FilesOf = outside::ProgramTest;

TEST_F(FilesOf, BenchAreNeverWrittenOverTheMethodsThatAreRead) {
  const std::string methods = (folder_ / "methods.json").string();
  const std::string link = (folder_ / "link.json").string();
  const std::string text = R"({"schema": 1, "methods": []})";
  std::ofstream(methods) << text;
  std::filesystem::create_symlink(methods, link);
  const std::string bench = TRAINMARK " bench resnet50 --use-methods " + methods;
  for (const std::string& outputs :
       {" --json " + methods, " --json " + link, " --methods " + methods}) {
    const Ended refused = shell(bench + outputs);
    EXPECT_EQ(refused.status, 2) << outputs;
    EXPECT_THAT(refused.err, HasSubstr("is one of the files that are read")) << outputs;
  }
  EXPECT_THAT(shell(bench + " --json new.json --methods new.json").err,
              HasSubstr("--methods new.json: --json already goes there"));
  EXPECT_EQ(content(methods), text);
}

TEST_F(FilesOf, StageAreNeverWrittenOverItsConfiguration) {
  const std::string config = (folder_ / "run.json").string();
  std::filesystem::copy_file("configs/resnet50/quickstart.json", config);
  const std::string text = content(config);
  for (const char* const options : {"", "--dry-run ", "--list "}) {
    const Ended refused =
        shell(std::string(TRAINMARK " stage ") + options + "--json " + config + " " + config);
    EXPECT_EQ(refused.status, 2) << options;
    EXPECT_THAT(refused.err, HasSubstr("is one of the files that are read")) << options;
  }
  EXPECT_EQ(content(config), text);
}

}  // namespace
