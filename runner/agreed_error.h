// A failure that every rank throws at the same place, with the same message.
#pragma once

#include <string>

#include "runner/base/error.h"

namespace runner {

/// Thrown by all ranks together, so one message is enough: see Communicator::abort_together.
class AgreedError : public base::Error {
 public:
  using base::Error::Error;
};

}  // namespace runner
