// The report of a run: JSON of every rank, and a summary for people. docs/report.md describes the
// JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.hpp"
#include "report/counters.hpp"

namespace hob::report {

/// What one process says about itself.
struct RankReport {
  int rank = 0;
  std::string host;
  std::uint64_t memory_bytes = 0;  ///< resident memory of the process
  std::string cpus;                ///< that it may run on, as Linux lists them: "0-3,8"
  Counters counters;
  /// Further members of the rank's object, made by the parts of Hob.
  std::vector<std::pair<std::string, nlohmann::ordered_json>> sections;
  std::vector<std::string> notes;
};

/// Version of the JSON's form. A member that is added leaves it as it is; one that goes, or that
/// means something else, raises it.
inline constexpr int kSchema = 1;

/// What rank 0 knows of the run.
struct RunContext {
  std::string version, abi, mpi;
  std::string job;            ///< its number in the batch system; "": none
  bool many_threads = false;  ///< the program has MPI_THREAD_MULTIPLE
  std::vector<std::string> command;
  int ranks = 0;
  int nodes = 0;  ///< machines; 0: not known
  /// Nodes that the MPI library sees on these machines, where they are more; else 0.
  int pretended_nodes = 0;
  bool complete = true;  ///< false: the run had not ended, and other ranks were not asked
  double started = 0;    ///< seconds since the Unix epoch
  double seconds = 0;
  struct Setting {
    std::string key, value, from;
  };
  std::vector<Setting> settings;
};

nlohmann::ordered_json counters_json(const Counters& counters);
nlohmann::ordered_json histogram_json(std::string_view unit, const Log2Histogram& histogram);

/// One rank's part of the JSON. Text that is not UTF-8 (names that programs give) is shown with
/// replacement characters.
std::string rank_json(const RankReport& rank);

/// The whole JSON: `ranks` are the texts made by rank_json.
std::string run_json(const RunContext& run, const std::vector<std::string>& ranks);

/// The summary: what the parts of Hob say of all ranks, and notes, in plain words. Each line starts
/// with "hob: ".
std::string summary(const RunContext& run, const std::vector<std::string>& lines,
                    const std::vector<std::string>& notes);

/// Writes a file in place of `path`, so that no reader sees half of it: beside it first, under a
/// name that no process knows before, then renamed. A link is replaced, and not what it names; a
/// file of another user's stays. What is not a regular file (a pipe, a terminal) is written to. ""
/// or what went wrong; nothing is left behind then.
std::string save(const std::string& path, const std::string& text);

/// Why save() would fail there now; "" if it would not. Leaves nothing behind.
std::string why_not_writable(const std::string& path);

/// "1.5 GiB", "17 B".
std::string bytes_text(double bytes);

/// "1.5 s", "120 ms", of nanoseconds.
std::string time_text(double nanoseconds);

/// "12,345".
std::string count_text(std::uint64_t count);

}  // namespace hob::report
