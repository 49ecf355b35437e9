// What the engine's benchmarks share: rows that become a table and JSON, limits computed from
// them, and the clocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hob::bench {

using Value = std::variant<std::string, double, std::int64_t>;
using Row = std::vector<std::pair<std::string, Value>>;

/// The result of one benchmark run.
class Result {
 public:
  explicit Result(std::string bench) : bench_(std::move(bench)) {}

  void add(Row row) { rows_.push_back(std::move(row)); }

  /// `value` must be at most `limit` (or at least, for `at_least`).
  void limit(std::string name, double value, double limit, bool at_least = false);

  /// A sentence for the reader.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Prints a table of the rows whose columns are the same as the last printed ones' or new, then
  /// limits and notes.
  void print() const;

  /// Writes {"bench","machine","rows","limits","notes"}; ends the program if it cannot.
  void write_json(const std::string& path) const;

  bool all_ok() const;

 private:
  struct Limit {
    std::string name;
    double value;
    double limit;
    bool ok;
  };
  std::string bench_;
  std::vector<Row> rows_;
  std::vector<Limit> limits_;
  std::vector<std::string> notes_;
};

/// The arguments that every benchmark takes.
struct Options {
  std::string json;    ///< --json FILE
  bool quick = false;  ///< --quick: fewer samples and smaller sizes
  std::vector<std::pair<std::string, std::string>> others;  ///< --name VALUE of those allowed

  std::string text(std::string_view name, std::string fallback) const;
  double number(std::string_view name, double fallback) const;
};

/// Reads the arguments. `allowed` names the benchmark's own options; `usage` is printed by --help
/// and on errors, which end the program.
Options read_options(int argc, char** argv, const std::vector<std::string>& allowed,
                     std::string_view usage);

/// Prints, writes JSON if asked. Returns main()'s result: 1 if a limit is missed.
int finish(const Result& result, const Options& options);

/// Nanoseconds that this thread has run: other programs on the core do not count.
double thread_ns();

/// Nanoseconds of time.
double wall_ns();

/// The middle value; 0 of none.
double median(std::vector<double> values);

}  // namespace hob::bench
