// The version of the telemetry file's layout.
// Hides nothing.
#pragma once

namespace telemetry {

/// Raised when a reader of the version before would misread the file.
inline constexpr int kReportSchema = 1;

}  // namespace telemetry
