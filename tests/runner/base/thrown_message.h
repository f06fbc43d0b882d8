// What an exception said, for tests of messages.
// Hides the try block.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace base {

/// The message of the E that `call` throws; a test failure and "" when it throws none.
template <class E, class Call>
std::string thrown_message(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace base
