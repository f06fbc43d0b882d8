// How much time between two looks of a watching thread counts.
#pragma once

namespace runner {

/// A longer pause between two looks means that this process was stopped or starved. Only this much
/// of it counts, since meanwhile it could neither progress nor be heard.
inline constexpr double kLongestLookS = 1.0;

}  // namespace runner
