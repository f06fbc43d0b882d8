// Why a text is not JSON, in words for the person who wrote it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

/// What was expected and what was found where a parser of `text` failed, such as `expected text in
/// double quotes, found 'seed'`. `at` is the index of the last byte that the parser read; at the
/// end of the text it may be text.size(). `expected` is what the parser would have accepted there.
std::string explain_json_fault(std::string_view text, std::size_t at, std::string_view expected);

/// "line 3, column 7" of the byte at `offset`, both from 1, columns in bytes.
std::string place_in_text(std::string_view text, std::size_t offset);

/// The encoding of a text that is not UTF-8 as `UTF-16; convert it, ...`, or "". A parser of bytes
/// fails at its first byte and could only say that.
std::string other_encoding(std::string_view text);

}  // namespace base
