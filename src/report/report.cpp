#include "report/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

namespace hob::report {
namespace {

using nlohmann::ordered_json;

ordered_json counters_json(const Counters& counters, bool window) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < counter_count; ++i)
    if (!window || counter_table[i].scope == Scope::window)
      json[std::string(counter_table[i].name)] = counters.values[i];
  return json;
}

ordered_json window_json(const WindowFacts& facts) {
  ordered_json json = {{"id", facts.id},
                       {"name", facts.name},
                       {"kind", facts.kind},
                       {"bytes", facts.bytes},
                       {"ranks", facts.ranks},
                       {"mode", facts.mode},
                       {"mode_reason", facts.mode_reason}};
  json["counters"] = counters_json(facts.counters, true);
  ordered_json histograms = ordered_json::object();
  for (const auto& h : facts.histograms)
    histograms[h.name] = {{"unit", h.unit}, {"scale", "log2"}, {"counts", h.counts}};
  json["histograms"] = std::move(histograms);
  ordered_json occupancy = ordered_json::array();
  for (const auto& p : facts.occupancy)
    occupancy.push_back({{"get", p.get},
                         {"used", p.used},
                         {"capacity", p.capacity},
                         {"entries", p.entries},
                         {"slots", p.slots}});
  ordered_json adaptations = ordered_json::array();
  for (const auto& a : facts.adaptations)
    adaptations.push_back({{"get", a.get},
                           {"what", a.of_index ? "index" : "storage"},
                           {"from", a.from},
                           {"to", a.to},
                           {"why", a.why}});
  json["series"] = {{"occupancy", std::move(occupancy)}, {"adaptations", std::move(adaptations)}};
  if (!facts.failures.empty()) json["failures"] = facts.failures;
  return json;
}

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

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
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

std::string rank_json(const RankFacts& facts) {
  ordered_json json = {
      {"rank", facts.rank}, {"host", facts.host}, {"memory_bytes", facts.memory_bytes}};
  json["counters"] = counters_json(facts.counters, false);
  json["windows"] = ordered_json::array();
  for (const auto& window : facts.windows) json["windows"].push_back(window_json(window));
  for (const auto& [name, text] : facts.sections) {
    auto section = ordered_json::parse(text, nullptr, false);
    if (!section.is_discarded()) json[name] = std::move(section);
  }
  json["notes"] = facts.notes;
  return dump(json);
}

std::string run_json(const RunFacts& run, const std::vector<std::string>& ranks) {
  ordered_json json;
  json["hob"] = {{"version", run.version}, {"abi", run.abi}, {"mpi", run.mpi}};
  json["program"] = {{"command", run.command},
                     {"ranks", run.ranks},
                     {"nodes", run.nodes},
                     {"start", iso_time(run.started)},
                     {"seconds", run.seconds}};
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

std::string summary(const RunFacts& run, const Counters& sums,
                    const std::vector<std::string>& extra, const std::vector<std::string>& notes) {
  std::string text;
  const auto line = [&](const std::string& content) { text += "hob: " + content + "\n"; };
  const auto value = [&](Counter c) { return sums[c]; };
  const std::uint64_t gets = value(Counter::gets);
  if (gets != 0) {
    const std::uint64_t hits = value(Counter::hits_full) + value(Counter::hits_pending);
    const std::uint64_t shared = value(Counter::shared_hits);
    line(fmt::format("{} remote gets, {:.1f}% served from the cache ({}), {} given to the network",
                     count_text(gets),
                     100.0 * static_cast<double>(hits) / static_cast<double>(gets),
                     bytes_text(static_cast<double>(value(Counter::bytes_from_cache))),
                     count_text(value(Counter::native_gets))));
    if (shared != 0)
      line(fmt::format("{:.1f}% served from what other ranks of the node had fetched ({})",
                       100.0 * static_cast<double>(shared) / static_cast<double>(gets),
                       bytes_text(static_cast<double>(value(Counter::shared_bytes)))));
    if (value(Counter::flushes_skipped) != 0)
      line(fmt::format("{} of {} flushes had nothing to complete",
                       count_text(value(Counter::flushes_skipped)),
                       count_text(value(Counter::flushes))));
    if (value(Counter::bypassed) != 0)
      line(fmt::format("{} gets left alone: their targets are as fast as a hit",
                       count_text(value(Counter::bypassed))));
    if (value(Counter::verified) != 0)
      line(fmt::format("verify: {} hits compared, {} differed",
                       count_text(value(Counter::verified)),
                       count_text(value(Counter::verify_failures))));
  }
  if (value(Counter::ghost_redirected) + value(Counter::ghost_direct) != 0)
    line(fmt::format("{} one-sided operations done by ghosts, {} directly in shared memory",
                     count_text(value(Counter::ghost_redirected)),
                     count_text(value(Counter::ghost_direct))));
  if (value(Counter::receives_in_prq) + value(Counter::messages_dequeued) != 0)
    line(fmt::format("{} of {} receives waited in Hob's queue, {} messages matched there",
                     count_text(value(Counter::receives_in_prq)),
                     count_text(value(Counter::receives)),
                     count_text(value(Counter::messages_dequeued))));
  for (const auto& content : extra) line(content);
  for (const auto& content : notes) line(content);
  if (text.empty())
    line(fmt::format("{} ranks, {:.1f} s, nothing for Hob to do", run.ranks, run.seconds));
  return text;
}

}  // namespace hob::report
