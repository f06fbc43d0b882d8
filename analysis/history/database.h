// An SQLite database and its statements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace analysis::history {

class Statement;

/// All calls throw DataError if the file is not a database or is damaged, else SystemError.
/// Messages have the name of the file and what SQLite says.
class Database {
 public:
  /// Opens or creates the file, but follows no link; ":memory:" is a database without a file. What
  /// the file's schema defines has no access to anything else.
  explicit Database(std::string path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& path() const { return path_; }
  /// Runs one or several statements without results.
  void run(const std::string& sql);
  /// The number of a pragma, such as user_version.
  std::int64_t pragma(const std::string& name);
  /// Rolls back a transaction that failed, if SQLite has not done so itself.
  void roll_back() noexcept;

 private:
  friend class Statement;
  [[noreturn]] void refuse(const std::string& what) const;
  struct Handle;
  std::string path_;
  std::unique_ptr<Handle> handle_;
};

/// A prepared statement. Parameters are bound, and columns read, from left to right. The database
/// must outlive it.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text);
  Statement& bind(std::int64_t number);
  Statement& bind(const std::optional<double>& number);
  /// Steps to the next row; false if there is none. A statement that is done can be bound again.
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
