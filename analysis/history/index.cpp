// Index of past runs.
#include "analysis/history/index.h"

#include <fmt/format.h>

#include <map>
#include <system_error>
#include <variant>

#include "analysis/find_logs.h"
#include "analysis/history/database.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"

namespace analysis::history {
namespace {

namespace fs = std::filesystem;

/// Increased when the tables, or the data read from logs, change.
constexpr std::int64_t kVersion = 1;
/// "tmRH": distinguishes the index from other databases.
constexpr std::int64_t kApplication = 0x746d5248;

constexpr char kTables[] = R"(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, log TEXT UNIQUE NOT NULL, stamp TEXT NOT NULL, workload TEXT NOT NULL,
  system TEXT NOT NULL, outcome TEXT NOT NULL, resumed INTEGER NOT NULL, started_ms INTEGER NOT NULL,
  ttt_s REAL, epochs REAL, train_throughput REAL, best_quality REAL, revision TEXT NOT NULL);
CREATE TABLE settings (
  run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, name TEXT NOT NULL,
  value TEXT NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE INDEX runs_by_time ON runs (started_ms);
)";

/// Rows that this program cannot have written: SQLite keeps values of any type in any column.
constexpr char kOddRows[] = R"(
SELECT (SELECT count(*) FROM runs WHERE typeof(log) <> 'text' OR typeof(stamp) <> 'text'
  OR typeof(workload) <> 'text' OR typeof(system) <> 'text' OR typeof(outcome) <> 'text'
  OR typeof(resumed) <> 'integer' OR typeof(started_ms) <> 'integer'
  OR typeof(ttt_s) NOT IN ('real', 'null') OR typeof(epochs) NOT IN ('real', 'null')
  OR typeof(train_throughput) NOT IN ('real', 'null')
  OR typeof(best_quality) NOT IN ('real', 'null') OR typeof(revision) <> 'text')
+ (SELECT count(*) FROM settings WHERE typeof(run) <> 'integer' OR typeof(name) <> 'text'
  OR typeof(value) <> 'text')
)";

/// A log in the folder; `stamp`: see stamp_of().
struct Present {
  std::string name, stamp;
  fs::path path;
};

/// Runs `work` in a transaction, which is rolled back if it throws.
template <class Work>
void transact(Database& database, const Work& work) {
  database.run("BEGIN IMMEDIATE");
  try {
    work();
    database.run("COMMIT");
  } catch (...) {
    database.roll_back();
    throw;
  }
}

bool is_whole(Database& database) {
  Statement check(database, "PRAGMA quick_check(1)");
  if (!check.step() || check.text() != "ok") return false;
  Statement odd(database, kOddRows);
  return odd.step() && odd.integer() == 0;
}

/// Tables, indexes, views and triggers with the statements that made them.
std::vector<std::string> schema_of(Database& database) {
  std::vector<std::string> parts;
  Statement all(
      database,
      "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_master ORDER BY 1");
  while (all.step()) parts.push_back(all.text());
  return parts;
}

/// Views, triggers and other columns could do anything when the index is read and written.
bool has_own_tables(Database& database) {
  Database own(":memory:");
  own.run(kTables);
  return schema_of(database) == schema_of(own);
}

/// The file without links in its folder's path, and a link in its place only if somebody chose it.
fs::path place_of(const fs::path& file) {
  if (file == ":memory:") return file;
  std::error_code failed;
  const fs::path full = fs::absolute(file);
  if (file.filename() != Index::kFile) return fs::weakly_canonical(full, failed);
  return fs::weakly_canonical(full.parent_path(), failed) / file.filename();
}

bool is_empty(Database& database) {
  Statement tables(database, "SELECT count(*) FROM sqlite_master");
  return tables.step() && tables.integer() == 0;
}

}  // namespace

struct Index::State {
  explicit State(const fs::path& file) {
    try {
      open(file);
    } catch (const base::DataError& error) {
      // Only a file with the index's name or mark is certainly ours to remove.
      if (file.filename() != Index::kFile && !is_ours) {
        throw base::DataError(fmt::format(
            "{}; expected an index of runs, or no file: delete it if it was one", error.what()));
      }
      why_rebuilt = error.what();
      database.reset();
      std::error_code failed;
      fs::remove(place_of(file), failed);
      open(file);
    }
  }

  void open(const fs::path& file) {
    const fs::path place = place_of(file);
    std::error_code failed;
    if (fs::is_symlink(fs::symlink_status(place, failed))) {
      throw base::DataError(file.string() + ": is a link");
    }
    database = std::make_unique<Database>(place.string());
    database->run("PRAGMA foreign_keys = ON");
    transact(*database, [&] { prepare(file); });
  }
  /// Creates or checks the tables. Call it in a transaction, as another process may do the same.
  void prepare(const fs::path& file) {
    is_ours = database->pragma("application_id") == kApplication;
    if (!is_ours && !is_empty(*database)) {
      throw base::ConfigError(file.string() +
                              ": is the database of another program; expected an "
                              "index of runs, or no file");
    }
    if (is_ours) {
      if (database->pragma("user_version") != kVersion) {
        throw base::DataError(file.string() + ": is of another version");
      }
      if (!has_own_tables(*database) || !is_whole(*database)) {
        throw base::DataError(file.string() + ": is damaged");
      }
      return;
    }
    database->run(kTables);
    database->run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication,
                              kVersion));
  }

  std::map<std::string, std::string> stamps() {
    std::map<std::string, std::string> all;
    Statement statement(*database, "SELECT log, stamp FROM runs");
    while (statement.step()) {
      const std::string log = statement.text();
      all[log] = statement.text();
    }
    return all;
  }
  void forget(const std::string& log) {
    Statement statement(*database, "DELETE FROM runs WHERE log = ?");
    statement.bind(log).step();
  }
  void keep(const PastRun& run, const std::string& stamp) {
    forget(run.log);
    Statement statement(*database,
                        "INSERT INTO runs (log, stamp, workload, system, outcome, resumed, "
                        "started_ms, ttt_s, epochs, train_throughput, best_quality, revision) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    statement.bind(run.log).bind(stamp).bind(run.workload).bind(run.system).bind(run.outcome);
    statement.bind(std::int64_t{run.resumed ? 1 : 0}).bind(run.started_ms).bind(run.ttt_s);
    statement.bind(run.epochs).bind(run.train_throughput).bind(run.best_quality);
    statement.bind(run.revision).step();
    Statement id(*database, "SELECT last_insert_rowid()");
    id.step();
    const std::int64_t number = id.integer();
    Statement setting(*database, "INSERT INTO settings (run, name, value) VALUES (?, ?, ?)");
    for (const auto& [name, value] : run.settings) {
      setting.bind(number).bind(name).bind(value).step();
    }
  }
  std::map<std::string, std::string> settings_of(std::int64_t run) {
    std::map<std::string, std::string> settings;
    Statement statement(*database, "SELECT name, value FROM settings WHERE run = ?");
    statement.bind(run);
    while (statement.step()) {
      const std::string name = statement.text();
      settings[name] = statement.text();
    }
    return settings;
  }

  std::unique_ptr<Database> database;
  std::string why_rebuilt;
  bool is_ours = false;  ///< the file has the mark of an index
};

Index::Index(const fs::path& file) : state_(std::make_unique<State>(file)) {}
Index::~Index() = default;

Update Index::update(const fs::path& folder, bool anew, int threads) {
  Update update;
  update.rebuilt_because = std::exchange(state_->why_rebuilt, "");
  std::map<std::string, std::string> known = state_->stamps();
  std::vector<Present> to_read;
  const FoundLogs found = find_logs({folder.string()});
  bool walked_all = true;
  for (const UnusablePath& problem : found.problems) {
    if (problem.missing) continue;  // a folder without logs
    walked_all = false;
    update.problems.push_back(problem.path + ": " + problem.reason);
  }
  for (const FoundLog& log : found.logs) {
    const std::string stamp = stamp_of(log.path);
    const auto old = known.find(log.name);
    const bool is_known = old != known.end() && old->second == stamp && !anew;
    if (old != known.end()) known.erase(old);
    if (is_known) {
      ++update.kept;
    } else {
      to_read.push_back({log.name, stamp, log.path});
    }
  }
  std::vector<std::variant<std::monostate, ReadRun, std::string>> read(to_read.size());
  base::for_each_index(to_read.size(), threads, [&](std::size_t i) {
    try {
      read[i] = read_past_run(to_read[i].path, to_read[i].name);
    } catch (const base::Error& error) {
      read[i] = std::string(error.what());
    }
  });
  // One transaction, so that a search by another process never sees half of an update.
  transact(*state_->database, [&] {
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (const auto* run = std::get_if<ReadRun>(&read[i])) {
        // A run with a problem is read, and the problem reported, at each update.
        state_->keep(run->run, run->problem.empty() ? to_read[i].stamp : "");
        ++update.read;
        if (!run->problem.empty()) update.problems.push_back(run->problem);
      } else {
        state_->forget(to_read[i].name);
        update.problems.push_back(std::get<std::string>(read[i]));
      }
    }
    if (!walked_all) return;  // logs that were not seen may still exist
    for (const auto& [log, stamp] : known) {
      state_->forget(log);
      ++update.forgotten;
    }
  });
  return update;
}

std::vector<PastRun> Index::find(const Query& query) {
  std::string where = "1";
  std::vector<std::string> texts;
  const auto ask = [&](const char* condition, const std::string& text) {
    if (text.empty()) return;
    where += std::string(" AND ") + condition;
    texts.push_back(text);
  };
  ask("workload = ?", query.workload);
  ask("system = ?", query.system);
  ask("outcome = ?", query.outcome);
  ask("substr(revision, 1, length(?)) = ?", query.revision);
  if (!query.revision.empty()) texts.push_back(query.revision);
  ask("instr(log, ?) > 0", query.text);
  for (const auto& [name, value] : query.settings) {
    where += " AND EXISTS (SELECT 1 FROM settings WHERE run = id AND name = ? AND value = ?)";
    texts.push_back(name);
    texts.push_back(value);
  }
  if (query.since_ms) where += " AND started_ms >= ?";
  Statement statement(*state_->database,
                      "SELECT id, log, workload, system, outcome, resumed, started_ms, ttt_s, "
                      "epochs, train_throughput, best_quality, revision FROM runs WHERE " +
                          where + " ORDER BY started_ms DESC, log");
  for (const std::string& text : texts) statement.bind(text);
  if (query.since_ms) statement.bind(*query.since_ms);
  std::vector<PastRun> runs;
  while (statement.step()) {
    PastRun run;
    const std::int64_t id = statement.integer();
    run.log = statement.text();
    run.workload = statement.text();
    run.system = statement.text();
    run.outcome = statement.text();
    run.resumed = statement.integer() != 0;
    run.started_ms = statement.integer();
    run.ttt_s = statement.number();
    run.epochs = statement.number();
    run.train_throughput = statement.number();
    run.best_quality = statement.number();
    run.revision = statement.text();
    run.settings = state_->settings_of(id);
    runs.push_back(std::move(run));
  }
  return runs;
}

const std::vector<std::pair<std::string, std::string>>& past_run_definitions() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"system", "folder above that of the log: results/<system>/<workload>/result_<n>.txt"},
      {"started", "run_start of the log, UTC"},
      {"revision",
       "of the program that ran, from its telemetry; -dirty: with changes that were not "
       "committed"},
      {"settings",
       "resolved configuration and ranks; of other programs' logs batch size, data, optimizer, "
       "nodes, ranks and division"},
      {"changes",
       "settings that differ from the previous run of the same workload and system; seeds and "
       "paths of files do not count"},
      {"ttt_s", "time to train: run_stop - run_start; absent for a resumed run"},
      {"train_throughput", "samples trained / time in epochs outside evaluations"},
  };
  return all;
}

}  // namespace analysis::history
