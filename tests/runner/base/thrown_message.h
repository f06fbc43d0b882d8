// The message of an exception, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace base {

/// The message of the E that `call` throws; a test failure and "" if it throws none.
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
