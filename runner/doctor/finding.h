// The result of one check of `trainmark doctor`, and the catalogue of all checks.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace doctor {

/// kNotKnown: it could not be checked. kNote: harmless here. kWarning: makes a run slower or its
/// figures doubtful. kError: prevents a run.
enum class Verdict { kOk, kNotKnown, kNote, kWarning, kError };
inline constexpr std::array kVerdicts = {Verdict::kOk, Verdict::kNotKnown, Verdict::kNote,
                                         Verdict::kWarning, Verdict::kError};

struct Finding {
  std::string id;  ///< in the catalogue
  Verdict verdict = Verdict::kOk;
  std::string subject;   ///< the item, if a check examines several: a path, a variable
  std::string measured;  ///< or why it is not known
  std::string expected;
  std::string remedy;           ///< a command or a sentence; empty if nothing is to be repaired
  std::optional<double> value;  ///< if the catalogue gives the check a unit
};
using Findings = std::vector<Finding>;

Finding make_finding(const char* id, Verdict verdict, const std::string& subject,
                     std::string measured, std::string expected = "", std::string remedy = "",
                     std::optional<double> value = {});
/// With kOk and without a subject.
Finding ok_finding(const char* id, std::string measured, std::optional<double> value = {});
void append(Findings& to, const Findings& more);

/// A check: the unit and meaning of its value, and the exit code of its error.
struct CatalogueEntry {
  const char* id;
  const char* unit;  ///< "" if it has no value
  const char* definition;
  base::ExitCode error_code;
};
std::span<const CatalogueEntry> catalogue();
/// Throws Error(kInternal) for an unknown id.
const CatalogueEntry& catalogue_entry(const std::string& id);

/// kSuccess without errors; else the largest code among them, so that a machine that cannot run
/// anything (4) takes precedence over data (3) and configurations (2).
base::ExitCode exit_code(const Findings& findings);

std::string to_string(Verdict verdict);
nlohmann::json to_json(const Finding& finding);
/// The inverse of to_json().
Finding finding_from(const nlohmann::json& object);
/// {"id": {"unit", "definition"}}.
nlohmann::json catalogue_json();

}  // namespace doctor
