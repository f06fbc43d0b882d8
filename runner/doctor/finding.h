// What one check of `trainmark doctor` found, and the catalogue of all checks.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace doctor {

/// kNotKnown: it could not be looked at. A note changes nothing that matters here; a warning makes
/// a run slower or its figures doubtful; an error ends it.
enum class Verdict { kOk, kNotKnown, kNote, kWarning, kError };

struct Finding {
  std::string id;  ///< of the catalogue
  Verdict verdict = Verdict::kOk;
  std::string subject;   ///< which one, where a check looks at several: a path, a variable
  std::string measured;  ///< why not, where it is not known
  std::string expected;
  std::string remedy;           ///< a command, or a sentence; empty where nothing is to be mended
  std::optional<double> value;  ///< of what has a unit in the catalogue
};
using Findings = std::vector<Finding>;

/// A check: what its value counts, what it means, and the exit code that its error leads to.
struct CatalogueEntry {
  const char* id;
  const char* unit;  ///< "" where it has no value
  const char* definition;
  base::ExitCode error_code;
};
std::span<const CatalogueEntry> catalogue();
/// Throws Error(kInternal) for an id that is not in it.
const CatalogueEntry& catalogue_entry(const std::string& id);

/// kSuccess without any error; else the greatest code of the errors, so that a machine that cannot
/// run anything (4) precedes data (3) and configurations (2).
base::ExitCode exit_code(const Findings& findings);

std::string to_string(Verdict verdict);
nlohmann::json to_json(const Finding& finding);
/// Of to_json()'s.
Finding finding_from(const nlohmann::json& object);
/// {"id": {"unit", "definition"}}.
nlohmann::json catalogue_json();

}  // namespace doctor
