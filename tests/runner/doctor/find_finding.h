// Looks up findings.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runner/doctor/finding.h"

namespace doctor {

/// The first finding of that check, and of that subject if one is named; a test failure if there is
/// none.
inline Finding found(const Findings& findings, const std::string& id,
                     const std::string& subject = "") {
  for (const Finding& finding : findings) {
    if (finding.id == id && (subject.empty() || finding.subject == subject)) return finding;
  }
  ADD_FAILURE() << "no finding " << id << " " << subject;
  return {};
}

inline bool has(const Findings& findings, const std::string& id) {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.id == id; });
}

}  // namespace doctor
