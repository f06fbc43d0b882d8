// HDF5 calls from several threads: serialised, with owned handles and errors as text.
#include "staging/dataset/h5_calls.h"

namespace dataset {
namespace {

/// One for the whole process, like the HDF5 state that it guards.
std::recursive_mutex& h5_mutex() {
  static std::recursive_mutex mutex;
  // Handles close what they own. At the end HDF5 would try again to close files that it could not
  // close before, such as ones with damaged headers, and print that it gave up.
  static const bool is_left_alone = H5dont_atexit() >= 0;
  static_cast<void>(is_left_alone);
  return mutex;
}

}  // namespace

H5Section::H5Section() : turn_(h5_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

H5Section::~H5Section() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

void start_h5() {
  const H5Section section;
  H5open();
}

namespace {

/// Reasons that users meet, without the library's names of its parts.
std::string in_plain_words(const std::string& reason) {
  unsigned long long size = 0, base = 0, stored = 0;
  constexpr const char* kCut =
      "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu";
  if (std::sscanf(reason.c_str(), kCut, &size, &base, &stored) == 3) {
    return fmt::format("the file is cut: {} of {} bytes are there", size, base + stored);
  }
  if (reason.empty()) return "HDF5 gives no reason";
  return reason == "file signature not found" ? "its signature is missing" : reason;
}

}  // namespace

std::string h5_reason() {
  std::string reason;
  // H5E_WALK_UPWARD begins with the innermost call.
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* out) -> herr_t {
        if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &reason);
  return in_plain_words(reason);
}

}  // namespace dataset
