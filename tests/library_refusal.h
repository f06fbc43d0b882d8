// The sentence with which the program refuses to train where oneDNN computes wrong results.
#pragma once

#include <gtest/gtest.h>

#include <string>

/// "oneDNN 3.7.2 computes wrong results on this machine", if that is why the check failed; else "".
inline std::string library_refusal(const testing::TestPartResult& part) {
  const std::string message = part.message(), ending = "computes wrong results on this machine";
  const std::size_t end = message.find(ending);
  if (!part.failed() || end == std::string::npos) return "";
  const std::size_t begin = message.rfind("oneDNN ", end);
  return message.substr(begin, end + ending.size() - begin);
}
