// An SQLite database and its statements.
#include "analysis/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "runner/base/error.h"
#include "runner/base/unique_handle.h"

namespace analysis::history {
namespace {

/// How long to wait for another process that writes, which takes as long as reading a few logs.
constexpr int kPatienceMs = 10000;

}  // namespace

struct Database::Handle {
  struct Traits {
    using Raw = sqlite3*;
    static Raw null() { return nullptr; }
    static void close(Raw raw) { sqlite3_close(raw); }
  };
  base::UniqueHandle<Traits> raw;
};
struct Statement::Handle {
  struct Traits {
    using Raw = sqlite3_stmt*;
    static Raw null() { return nullptr; }
    static void close(Raw raw) { sqlite3_finalize(raw); }
  };
  base::UniqueHandle<Traits> raw;
};

Database::Database(std::string path) : path_(std::move(path)) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path_.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, nullptr);
  handle_ = std::make_unique<Handle>(Handle{base::UniqueHandle<Handle::Traits>(raw)});
  if (opened != SQLITE_OK) refuse("cannot be opened");
  sqlite3_busy_timeout(raw, kPatienceMs);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Database::~Database() = default;

void Database::refuse(const std::string& what) const {
  const auto message = fmt::format("{}: {}: {}", path_, what, sqlite3_errmsg(handle_->raw.get()));
  const int code = sqlite3_errcode(handle_->raw.get());
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) throw base::DataError(message);
  throw base::SystemError(message);
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_->raw.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    refuse("statement failed");
  }
}

std::int64_t Database::pragma(const std::string& name) {
  Statement statement(*this, "PRAGMA " + name);
  return statement.step() ? statement.integer() : 0;
}

void Database::roll_back() noexcept {
  sqlite3_exec(handle_->raw.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* raw = nullptr;
  const int prepared = sqlite3_prepare_v2(database.handle_->raw.get(), sql.c_str(),
                                          static_cast<int>(sql.size()), &raw, nullptr);
  handle_ = std::make_unique<Handle>(Handle{base::UniqueHandle<Handle::Traits>(raw)});
  if (prepared != SQLITE_OK) database.refuse("statement cannot be prepared");
}

Statement::~Statement() = default;

Statement& Statement::bind(const std::string& text) {
  sqlite3_bind_text(handle_->raw.get(), ++parameter_, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  sqlite3_bind_int64(handle_->raw.get(), ++parameter_, number);
  return *this;
}

Statement& Statement::bind(const std::optional<double>& number) {
  ++parameter_;
  if (number) {
    sqlite3_bind_double(handle_->raw.get(), parameter_, *number);
  } else {
    sqlite3_bind_null(handle_->raw.get(), parameter_);
  }
  return *this;
}

bool Statement::step() {
  column_ = 0;
  const int result = sqlite3_step(handle_->raw.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) database_.refuse("statement failed");
  sqlite3_reset(handle_->raw.get());
  parameter_ = 0;
  return false;
}

std::string Statement::text() {
  const int column = column_++;
  const auto* const text = sqlite3_column_text(handle_->raw.get(), column);
  if (text == nullptr) return "";
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_->raw.get(), column))};
}

std::int64_t Statement::integer() { return sqlite3_column_int64(handle_->raw.get(), column_++); }

std::optional<double> Statement::number() {
  const int column = column_++;
  if (sqlite3_column_type(handle_->raw.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(handle_->raw.get(), column);
}

}  // namespace analysis::history
