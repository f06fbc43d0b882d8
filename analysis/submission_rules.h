// The rules of submissions as data, found in the binary.
// Hides the build step that puts them there.
#pragma once

#include <span>
#include <string_view>

namespace analysis {

/// A file of configs/submission.
struct EmbeddedFile {
  std::string_view name;  ///< below that folder, "rcp/cosmoflow.json"
  std::string_view content;
};

std::span<const EmbeddedFile> embedded_submission_rules();

}  // namespace analysis
