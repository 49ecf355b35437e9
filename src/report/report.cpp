#include "report/report.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hob::report {
namespace {

using nlohmann::ordered_json;

std::string iso_time(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm utc{};
  gmtime_r(&whole, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

ordered_json counters_json(const Counters& counters) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, value] : counters.values) json[std::string(name)] = value;
  return json;
}

ordered_json histogram_json(std::string_view unit, const Log2Histogram& histogram) {
  return {{"unit", unit}, {"scale", "log2"}, {"counts", histogram.trimmed()}};
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string time_text(double nanoseconds) {
  const double seconds = nanoseconds * 1e-9;
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", nanoseconds * 1e-6);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{} h", count_text(static_cast<std::uint64_t>(std::llround(seconds / 3600))));
}

std::string count_text(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string rank_json(const RankReport& rank) {
  ordered_json json = {
      {"rank", rank.rank}, {"host", rank.host}, {"memory_bytes", rank.memory_bytes}};
  if (!rank.cpus.empty()) json["cpus"] = rank.cpus;
  json["counters"] = counters_json(rank.counters);
  for (const auto& [name, section] : rank.sections) json[name] = section;
  json["notes"] = rank.notes;
  return dump(json);
}

std::string run_json(const RunContext& run, const std::vector<std::string>& ranks) {
  ordered_json json;
  json["schema"] = kSchema;
  json["hob"] = {{"version", run.version}, {"abi", run.abi}, {"mpi", run.mpi}};
  json["program"] = {{"command", run.command}, {"ranks", run.ranks},
                     {"nodes", run.nodes},     {"start", iso_time(run.started)},
                     {"seconds", run.seconds}, {"complete", run.complete}};
  if (run.nodes == 0) json["program"].erase("nodes");
  if (run.pretended_nodes != 0) json["program"]["pretended_nodes"] = run.pretended_nodes;
  json["program"]["threads"] = run.many_threads ? "multiple" : "serialized or less";
  if (!run.job.empty()) json["program"]["job"] = run.job;
  ordered_json settings = ordered_json::object();
  for (const auto& s : run.settings) settings[s.key] = {{"value", s.value}, {"from", s.from}};
  json["settings"] = std::move(settings);
  ordered_json notes = ordered_json::array();
  json["ranks"] = ordered_json::array();
  for (const auto& text : ranks) {
    auto rank = ordered_json::parse(text, nullptr, false);
    if (rank.is_discarded()) continue;
    for (auto& note : rank["notes"])
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    rank.erase("notes");
    json["ranks"].push_back(std::move(rank));
  }
  json["notes"] = std::move(notes);
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string summary(const RunContext& run, const std::vector<std::string>& lines,
                    const std::vector<std::string>& notes) {
  std::string text;
  for (const auto* each : {&lines, &notes})
    for (const std::string& line : *each) text += "hob: " + line + "\n";
  if (text.empty())
    return fmt::format("hob: {} ranks, {:.1f} s, nothing for Hob to do\n", run.ranks, run.seconds);
  return text;
}

namespace {

/// Why nothing is written in place of what is there; "" if it may be.
std::string refusal(const struct stat& there) {
  if (there.st_uid != ::geteuid() && (S_ISREG(there.st_mode) || S_ISFIFO(there.st_mode)))
    return fmt::format("it belongs to the user with the number {}", there.st_uid);
  return S_ISDIR(there.st_mode) ? std::strerror(EISDIR) : "";
}

/// All of it; "" or what went wrong.
std::string write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return std::strerror(errno);
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return "";
}

/// A number that others cannot easily foresee. Not std::random_device, which asks for glibc 2.36
/// where the compiler has it.
std::uint32_t random_number() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint32_t>(now.tv_nsec ^ ::getpid());
}

/// A new file of a name that no process knows before, beside `path`. -1, or its descriptor.
int new_file_beside(const std::string& path, std::string& name) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    name = fmt::format("{}.{:08x}.part", path, random_number());
    const int file =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Whether a link may be followed to what is no file: /dev/stdout is such a link.
bool is_trusted(const struct stat& link) { return link.st_uid == 0 || link.st_uid == ::geteuid(); }

/// What is no regular file is written to, and never replaced.
bool is_written_to(const std::string& path, const struct stat& there) {
  struct stat behind = there;
  if (S_ISLNK(there.st_mode) && (!is_trusted(there) || ::stat(path.c_str(), &behind) != 0))
    return false;
  return !S_ISREG(behind.st_mode) && !S_ISDIR(behind.st_mode);
}

}  // namespace

std::string save(const std::string& path, const std::string& text) {
  struct stat there {};
  const bool exists = ::lstat(path.c_str(), &there) == 0;
  if (exists)
    if (std::string why = refusal(there); !why.empty()) return why;
  const bool in_place = exists && is_written_to(path, there);
  std::string name = path;
  // A pipe without a reader is an error, and no reason to wait.
  const int file = in_place ? ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
                            : new_file_beside(path, name);
  if (file < 0) return std::strerror(errno);
  if (in_place) ::fcntl(file, F_SETFL, O_WRONLY);
  std::string error = write_all(file, text);
  if (::close(file) != 0 && error.empty()) error = std::strerror(errno);
  if (in_place) return error;
  if (error.empty() && std::rename(name.c_str(), path.c_str()) != 0) error = std::strerror(errno);
  if (!error.empty()) ::unlink(name.c_str());
  return error;
}

std::string why_not_writable(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (std::string why = refusal(there); !why.empty()) return why;
    if (is_written_to(path, there))
      return ::access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  }
  std::string name;
  const int file = new_file_beside(path, name);
  if (file < 0) return std::strerror(errno);
  ::close(file);
  ::unlink(name.c_str());
  return "";
}

}  // namespace hob::report
