// Units of time, memory and share as factors, for figures in double.
#pragma once

namespace base {

inline constexpr double kMsPerSecond = 1e3;
inline constexpr double kNsPerSecond = 1e9;

// In seconds.
inline constexpr double kNanosecond = 1e-9;
inline constexpr double kMicrosecond = 1e-6;
inline constexpr double kMillisecond = 1e-3;
inline constexpr double kMinute = 60.0;
inline constexpr double kHour = 3600.0;

// In bytes.
inline constexpr double kMebibyte = 1024.0 * 1024.0;
inline constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

// A share of 1 is 100 %.
inline constexpr double kPercent = 100.0;

}  // namespace base
