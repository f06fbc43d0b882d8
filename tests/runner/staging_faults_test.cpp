// A sweep over staging on two ranks: each of its calls fails on one of them, with each error that
// disks and servers give.
#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runner/base/system_facts.h"
#include "runner/staged_copies.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using outside::Ended;
using outside::kData;
using outside::kSystem;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::array kErrors = {ENOSPC, EDQUOT, EIO, EACCES, ESTALE};
constexpr std::int64_t kSamples = 16;

/// The n-th call of a rank on a path with this text, and all later ones, fail.
struct Site {
  const char* name;
  int rank;
  const char* call;
  int n;
  const char* text;
  int status;
};

constexpr Site kSites[] = {
    {"StagingFolderMade", 0, "folder", 1, "/near", kSystem},
    {"StagingFolderExamined", 0, "stat", 1, "/near", kSystem},
    {"SetFolderListed", 0, "list", 1, "/near", kSystem},
    {"SpaceLearnt", 0, "space", 1, "/near", kSystem},
    {"SetFolderMade", 0, "folder", 1, "/near/train", kSystem},
    {"LockMade", 0, "open", 1, "in-use.lock", kSystem},
    {"MarkMade", 0, "open", 1, "begun-by-trainmark", kSystem},
    {"MarkFlushed", 0, "sync", 1, "begun-by-trainmark", kSystem},
    {"RecordMade", 0, "open", 1, "begun.json", kSystem},
    {"RecordWritten", 0, "write", 1, "begun.json", kSystem},
    {"RecordFlushed", 0, "sync", 1, "begun.json", kSystem},
    {"RecordRenamed", 0, "rename", 1, "begun.json", kSystem},
    {"SetFolderRenamed", 0, "rename", 2, "/near/train", kSystem},
    {"PackMade", 1, "open", 2, "/pack-", kSystem},
    {"SpaceOfPackTaken", 1, "allocate", 1, "/pack-", kSystem},
    {"PackWritten", 1, "write", 2, "/pack-", kSystem},
    {"PackFlushed", 1, "sync", 1, "/pack-", kSystem},
    {"PackReadBack", 1, "read", 2, "/pack-", kSystem},
    {"PackRenamed", 1, "rename", 2, "/pack-", kSystem},
    {"ListMade", 0, "open", 1, "manifest.json", kSystem},
    {"ListWritten", 0, "write", 1, "manifest.json", kSystem},
    {"ListFlushed", 0, "sync", 1, "manifest.json", kSystem},
    {"ListRenamed", 0, "rename", 1, "manifest.json", kSystem},
    {"SourceListed", 0, "list", 1, "data/train", kData},
    {"SourceExamined", 1, "stat", 1, "data/train", kData},
    {"SourceOpened", 1, "open", 2, "data/train", kData},
    {"SourceRead", 1, "read", 2, "data/train", kData},
    {"SecondSourceRead", 0, "read", 1, "data/validation", kData},
};

class StagingFault : public outside::StagedCopies, public testing::WithParamInterface<Site> {
 protected:
  Ended fail_with(int error) const {
    const Site& site = GetParam();
    const std::string failing = std::to_string(site.rank) + ":" + site.call + ":" +
                                std::to_string(site.n) + ":" + std::to_string(error) + ":" +
                                site.text;
    return shell(outside::mpirun_with_failing_call(2, failing) + stage());
  }
};

TEST_P(StagingFault, NamesNodeAndFileAndTheNextRunCopiesWhatIsMissing) {
  const Site& site = GetParam();
  for (const int error : kErrors) {
    SCOPED_TRACE(std::strerror(error));
    fs::remove_all(near());
    const Ended ended = fail_with(error);
    EXPECT_EQ(ended.status, site.status) << ended.err;
    EXPECT_TRUE(all_end());
    EXPECT_THAT(ended.err, HasSubstr(std::strerror(error)));
    EXPECT_THAT(ended.err,
                ContainsRegex("rank [01]: " + base::host_name() + ": [^\n]*" + site.text));
    expect_next_run_copies_what_is_missing(kSamples);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, StagingFault, testing::ValuesIn(kSites),
                         [](const auto& site) { return site.param.name; });

}  // namespace
