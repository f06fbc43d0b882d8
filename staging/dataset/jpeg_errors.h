// Errors of libjpeg: its message is kept, and longjmp leaves the library.
#pragma once

#include <array>
#include <csetjmp>
#include <cstdio>

// After <cstdio>, which it needs.
#include <jpeglib.h>

namespace dataset {

struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg only sees a pointer to this
  std::jmp_buf jump;
  std::array<char, JMSG_LENGTH_MAX> message;
  std::array<char, JMSG_LENGTH_MAX> flaw;  ///< the last warning that concerned no pixel
  bool
      may_end;  ///< the source may end here: then missing bits of pixels are reported by themselves
};

/// The error handler of a JpegErrors: error_exit.
[[noreturn]] inline void leave_libjpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message.data());
  std::longjmp(errors->jump, 1);
}

}  // namespace dataset
