// Exit codes of the program as scripts know them, for tests from outside.
#pragma once

namespace outside {

inline constexpr int kUsage = 2, kData = 3, kSystem = 4, kNonCompliant = 5, kTargetMissed = 6;

}  // namespace outside
