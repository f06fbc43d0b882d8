// Reads how a log ends.
#include "runner/log_ending.h"

#include <variant>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace runner {

LogEnding log_ending(const std::string& path) {
  LogEnding ending;
  try {
    base::InputFile in(path);
    mllog::RecordReader reader(in);
    while (const auto item = reader.next()) {
      const auto* record = std::get_if<mllog::Record>(&*item);
      if (record == nullptr) continue;
      const bool trains =
          record->key == mllog::keys::kEpochStart || record->key == mllog::keys::kBlockStart;
      if (trains) ending.trained = true;
      if (record->key != mllog::keys::kRunStop) continue;
      ending.status = record->metadata.member(mllog::keys::kStatus).string().value_or("");
      ending.reason = record->metadata.member("reason").string().value_or("");
    }
  } catch (const base::Error&) {
    // There is no log, or the disk failed: return what was read before.
    return ending;
  }
  return ending;
}

}  // namespace runner
