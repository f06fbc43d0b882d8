// Serialisation of a listing, so that one rank lists and broadcasts. The format is not stable.
#include "staging/dataset/listing.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runner/base/error.h"

namespace dataset {
namespace {

/// Appends values and strings to a byte string.
class Packer {
 public:
  template <class T>
  void value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void text(std::string_view text) {
    value(text.size());
    bytes.append(text);
  }
  void texts(const std::vector<std::string>& all) {
    value(all.size());
    for (const auto& one : all) text(one);
  }
  std::string bytes;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T value() {
    T value;
    const std::string_view taken = take(sizeof(T));
    std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(value<std::size_t>()); }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (auto count = value<std::size_t>(); count > 0; --count) all.emplace_back(text());
    return all;
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw base::Error(base::ExitCode::kInternal, "a listing that is cut");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace

std::string to_bytes(const Listing& listing) {
  Packer packer;
  packer.value(listing.kind);
  packer.value(listing.is_flat);
  packer.text(listing.root);
  packer.texts(listing.class_names);
  packer.texts(listing.folder_names);
  packer.text({reinterpret_cast<const char*>(listing.samples.data()),
               listing.samples.size() * sizeof(Listing::Sample)});
  packer.text(listing.names);
  packer.value(listing.ignored_files);
  packer.value(listing.file_size);
  packer.value(listing.may_be_compressed);
  packer.value(listing.mtime_ns);
  packer.value(listing.most_bytes);
  packer.text(listing.remark);
  return std::move(packer.bytes);
}

Listing listing_from_bytes(std::string_view bytes) {
  Unpacker unpacker(bytes);
  Listing listing;
  listing.kind = unpacker.value<Listing::Kind>();
  listing.is_flat = unpacker.value<bool>();
  listing.root = unpacker.text();
  listing.class_names = unpacker.texts();
  listing.folder_names = unpacker.texts();
  const std::string_view samples = unpacker.text();
  listing.samples.resize(samples.size() / sizeof(Listing::Sample));
  std::memcpy(listing.samples.data(), samples.data(), samples.size());
  listing.names = unpacker.text();
  listing.ignored_files = unpacker.value<std::int64_t>();
  listing.file_size = unpacker.value<std::int64_t>();
  listing.may_be_compressed = unpacker.value<bool>();
  listing.mtime_ns = unpacker.value<std::int64_t>();
  listing.most_bytes = unpacker.value<std::int64_t>();
  listing.remark = unpacker.text();
  return listing;
}

}  // namespace dataset
