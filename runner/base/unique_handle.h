// Sole ownership of a C library's handle: file descriptors, hid_t and the like.
#pragma once

#include <utility>

namespace base {

/// Sole owner of a C handle: `UniqueHandle<H5FileTraits>`. Traits have `Raw`, `null()`, `close()`.
template <class Traits>
class UniqueHandle {
 public:
  using Raw = typename Traits::Raw;
  UniqueHandle() noexcept : raw_(Traits::null()) {}
  explicit UniqueHandle(Raw raw) noexcept : raw_(raw) {}
  UniqueHandle(UniqueHandle&& from) noexcept : raw_(std::exchange(from.raw_, Traits::null())) {}
  UniqueHandle& operator=(UniqueHandle&& from) noexcept {
    if (this != &from) {
      reset();
      raw_ = std::exchange(from.raw_, Traits::null());
    }
    return *this;
  }
  ~UniqueHandle() { reset(); }
  Raw get() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != Traits::null(); }
  /// Closes the handle now.
  void reset() noexcept {
    if (raw_ != Traits::null()) Traits::close(std::exchange(raw_, Traits::null()));
  }

 private:
  Raw raw_;
};

}  // namespace base
