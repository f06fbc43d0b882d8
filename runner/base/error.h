// The kinds of failure and the exit code of each. Only main.cpp handles them finally.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace base {

/// Exit status. Scripts rely on the values: only append. Results never use 1, as launchers fail
/// with 1.
enum class ExitCode {
  kSuccess,
  kInternal,
  kUsage,
  kData,
  kSystem,
  kNonCompliant,
  kTargetMissed,
  kStopped,
  kIncomplete,
  kRegression,
  kUnknownVerdict
};

/// A job that could not be done. The message says where, what was expected and what was found.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// The command line or a configuration file asks for something impossible.
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// A dataset, log, weights file or checkpoint is missing, damaged or of the wrong kind.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(ExitCode::kData, message) {}
};

/// Incompatible shapes: an error in the description of a network.
class ShapeError : public Error {
 public:
  explicit ShapeError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// The machine, the operating system or a library refused a request.
class SystemError : public Error {
 public:
  explicit SystemError(const std::string& message) : Error(ExitCode::kSystem, message) {}
};

/// A library computes wrong results on this machine.
class LibraryError : public SystemError {
 public:
  using SystemError::SystemError;
};

/// The message and exit code for an exception: a base::Error's own; kSystem for memory, with its
/// figures, and for std::system_error, with the paths first; else kInternal.
struct Failure {
  ExitCode code = ExitCode::kInternal;
  std::string message;
};
Failure failure_of(const std::exception& exception);

/// SystemError for threads that the system refuses to start; `who` wants them.
SystemError thread_error(const std::string& who, const std::system_error& error);

/// SystemError with the text of `error_number` (an errno value) appended to `message`.
SystemError system_error(const std::string& message, int error_number);

}  // namespace base
