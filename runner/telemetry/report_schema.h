// The version of the telemetry file's layout.
#pragma once

namespace telemetry {

/// Incremented when a reader of the previous version would misread the file.
inline constexpr int kReportSchema = 1;

}  // namespace telemetry
