// An SQLite database and its statements.
// Hides the C interface, and that it keeps text of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace analysis::history {

class Statement;

/// All calls throw DataError for a file that is no database or a damaged one, else SystemError,
/// naming the file and what SQLite says.
class Database {
 public:
  /// Opens or makes the file; ":memory:" for none.
  explicit Database(std::string path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& path() const { return path_; }
  /// One or several statements without results.
  void run(const std::string& sql);
  /// A pragma's number, such as user_version.
  std::int64_t pragma(const std::string& name);
  /// Ends a transaction that failed; SQLite may have done so itself.
  void roll_back() noexcept;

 private:
  friend class Statement;
  [[noreturn]] void refuse(const std::string& what) const;
  struct Handle;
  std::string path_;
  std::unique_ptr<Handle> handle_;
};

/// A prepared statement; parameters are bound and columns read in their order. The database
/// outlives it.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text);
  Statement& bind(std::int64_t number);
  Statement& bind(const std::optional<double>& number);
  /// The next row; false where there is none. A statement that is done can be bound again.
  bool step();
  std::string text();
  std::int64_t integer();
  std::optional<double> number();

 private:
  struct Handle;
  Database& database_;
  std::unique_ptr<Handle> handle_;
  int parameter_ = 0, column_ = 0;
};

}  // namespace analysis::history
