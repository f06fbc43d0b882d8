// TensorFlow's Example, the protocol buffer in TFRecord files: named lists of values.
#include "staging/dataset/example.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <utility>

#include "runner/base/error.h"

namespace dataset {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are read as they lie");

using Bytes = std::span<const std::byte>;
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };
constexpr unsigned kTypeBits = 3;

struct ExampleSource {
  Bytes message;
  const std::string& name;
  std::int64_t offset;  ///< of the message in the file

  [[noreturn]] void fail(const std::byte* at, const std::string& what) const {
    throw base::DataError(
        fmt::format("{}: offset {}: {}", name, offset + (at - message.data()), what));
  }
};

struct MessageField {
  std::uint32_t number = 0;
  WireType type = kVarint;
  std::uint64_t value = 0;  ///< kVarint
  Bytes bytes;              ///< all other types

  bool is(std::uint32_t wanted, WireType wanted_type) const {
    return number == wanted && type == wanted_type;
  }
};

/// The fields of one message. Groups, which no such file contains, are rejected as damage.
class Fields {
 public:
  Fields(const ExampleSource& source, Bytes message) : source_(source), rest_(message) {}

  bool next(MessageField& field) {
    if (rest_.empty()) return false;
    const std::byte* at = rest_.data();
    const std::uint64_t tag = varint();
    field.type = static_cast<WireType>(tag & ((1U << kTypeBits) - 1));
    if (tag >> kTypeBits == 0 || tag > UINT32_MAX) {
      source_.fail(at, fmt::format("expected the tag of a field, found {}", tag));
    }
    field.number = static_cast<std::uint32_t>(tag >> kTypeBits);
    switch (field.type) {
      case kVarint:
        field.value = varint();
        return true;
      case kFixed64:
        field.bytes = take(sizeof(std::uint64_t));
        return true;
      case kFixed32:
        field.bytes = take(sizeof(std::uint32_t));
        return true;
      case kLengthDelimited:
        field.bytes = take(varint());
        return true;
    }
    source_.fail(at, fmt::format("field {} has the unknown type {}", field.number,
                                 static_cast<unsigned>(field.type)));
  }

  bool is_at_end() const { return rest_.empty(); }

  std::uint64_t varint() {
    constexpr unsigned kBits = 7, kLastShift = 63;
    std::uint64_t value = 0;
    const std::byte* begin = rest_.data();
    for (unsigned shift = 0; shift <= kLastShift; shift += kBits) {
      const auto byte = std::to_integer<std::uint64_t>(take(1).front());
      if (shift == kLastShift && byte > 1) break;
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80U) return value;
    }
    source_.fail(begin, "a number of more than 64 bits");
  }

 private:
  Bytes take(std::uint64_t size) {
    if (size > rest_.size()) {
      source_.fail(rest_.data(), fmt::format("the message is cut: expected {} bytes, found {}",
                                             size, rest_.size()));
    }
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  const ExampleSource& source_;
  Bytes rest_;
};

/// Returns the list of this type in `feature`, replacing a list of another type.
template <class List>
List& list_in(Feature& feature) {
  if (!std::holds_alternative<List>(feature)) feature = List();
  return std::get<List>(feature);
}

void read_bytes(Fields fields, BytesList& list) {
  for (MessageField field; fields.next(field);) {
    if (field.is(1, kLengthDelimited)) list.push_back(field.bytes);
  }
}

void read_floats(const ExampleSource& source, Fields fields, FloatList& list) {
  for (MessageField field; fields.next(field);) {
    if (!field.is(1, kLengthDelimited) && !field.is(1, kFixed32)) continue;
    if (field.bytes.size() % sizeof(float) != 0) {
      source.fail(field.bytes.data(),
                  fmt::format("expected packed floats, found {} bytes", field.bytes.size()));
    }
    const std::size_t before = list.size();
    list.resize(before + field.bytes.size() / sizeof(float));
    if (!field.bytes.empty()) {
      std::memcpy(list.data() + before, field.bytes.data(), field.bytes.size());
    }
  }
}

void read_integers(const ExampleSource& source, Fields fields, Int64List& list) {
  for (MessageField field; fields.next(field);) {
    if (field.is(1, kVarint)) list.push_back(static_cast<std::int64_t>(field.value));
    if (!field.is(1, kLengthDelimited)) continue;
    for (Fields packed(source, field.bytes); !packed.is_at_end();) {
      list.push_back(static_cast<std::int64_t>(packed.varint()));
    }
  }
}

void read_feature(const ExampleSource& source, Bytes message, Feature& feature) {
  Fields fields(source, message);
  for (MessageField field; fields.next(field);) {
    const Fields list(source, field.bytes);
    if (field.is(1, kLengthDelimited)) read_bytes(list, list_in<BytesList>(feature));
    if (field.is(2, kLengthDelimited)) read_floats(source, list, list_in<FloatList>(feature));
    if (field.is(3, kLengthDelimited)) read_integers(source, list, list_in<Int64List>(feature));
  }
}

void read_entry(const ExampleSource& source, Bytes message, Example& example) {
  std::string key;
  Feature value;
  Fields fields(source, message);
  for (MessageField field; fields.next(field);) {
    if (field.is(1, kLengthDelimited)) {
      key.assign(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
    }
    if (field.is(2, kLengthDelimited)) read_feature(source, field.bytes, value);
  }
  example.insert_or_assign(std::move(key), std::move(value));
}

/// A message being written.
class Message {
 public:
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes.push_back(static_cast<std::byte>(value | 0x80U));
    bytes.push_back(static_cast<std::byte>(value));
  }
  void field(std::uint32_t number, Bytes content) {
    varint(number << kTypeBits | kLengthDelimited);
    varint(content.size());
    bytes.insert(bytes.end(), content.begin(), content.end());
  }
  std::vector<std::byte> bytes;
};

std::vector<std::byte> in_field(std::uint32_t number, Bytes content) {
  Message message;
  message.field(number, content);
  return std::move(message.bytes);
}

std::vector<std::byte> list_bytes(std::monostate /*none*/) { return {}; }

std::vector<std::byte> list_bytes(const BytesList& list) {
  Message message;
  for (const Bytes value : list) message.field(1, value);
  return std::move(message.bytes);
}

std::vector<std::byte> list_bytes(const FloatList& list) {
  return in_field(1, std::as_bytes(std::span(list)));
}

std::vector<std::byte> list_bytes(const Int64List& list) {
  Message packed;
  for (const std::int64_t value : list) packed.varint(static_cast<std::uint64_t>(value));
  return in_field(1, packed.bytes);
}

std::vector<std::byte> feature_bytes(const Feature& feature) {
  if (feature.index() == 0) return {};
  const auto list = std::visit([](const auto& values) { return list_bytes(values); }, feature);
  return in_field(static_cast<std::uint32_t>(feature.index()), list);
}

}  // namespace

Example parse_example(std::span<const std::byte> message, const std::string& name,
                      std::int64_t offset) {
  const ExampleSource source{message, name, offset};
  Example example;
  Fields fields(source, message);
  for (MessageField field; fields.next(field);) {
    if (!field.is(1, kLengthDelimited)) continue;
    Fields features(source, field.bytes);
    for (MessageField entry; features.next(entry);) {
      if (entry.is(1, kLengthDelimited)) read_entry(source, entry.bytes, example);
    }
  }
  return example;
}

std::vector<std::byte> serialise_example(const Example& example) {
  Message features;
  for (const auto& [name, feature] : example) {
    Message entry;
    entry.field(1, std::as_bytes(std::span(name)));
    entry.field(2, feature_bytes(feature));
    features.field(1, entry.bytes);
  }
  return in_field(1, features.bytes);
}

}  // namespace dataset
