// What overlap has to say in the report.
#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "mpi/core/context.hpp"
#include "mpi/lifecycle/parts.hpp"
#include "mpi/progress/overlap.hpp"
#include "mpi/report/registry.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

using overlap_thread::Stats;

std::uint64_t whole(double ns) { return static_cast<std::uint64_t>(ns); }

constexpr bool kCoupled = true;

constexpr report::CounterRows<Stats, 14> kRows{{
    {{"overlap_polls", "polls", "polls of the network while the program was outside MPI"},
     [](const Stats& s) { return s.polls; }},
    {{"overlap_useful", "polls", "of these, polls that moved something"},
     [](const Stats& s) { return s.useful; }},
    {{"overlap_taken", "ns", "processor time that the overlap thread took"},
     [](const Stats& s) { return s.taken_ns; }},
    {{"overlap_delayed", "ns", "time for which calls waited until it had left the MPI library"},
     [](const Stats& s) { return s.waited_ns; }},
    {{"overlap_started", "starts", "calls that start messages or collectives, made by the thread"},
     [](const Stats& s) { return s.started; }},
    {{"overlap_saved", "ns", "time by which waits were shorter, as waits without help show",
      report::Kind::count, kCoupled},
     [](const Stats& s) { return whole(s.saved.usual); }},
    {{"overlap_saved_least", "ns", "the same, less its standard error", report::Kind::count,
      kCoupled},
     [](const Stats& s) { return whole(s.saved.least); }},
    {{"overlap_saved_most", "ns", "the same, with its standard error", report::Kind::count,
      kCoupled},
     [](const Stats& s) { return whole(s.saved.most); }},
    {{"overlap_helped", "phases", "phases of computing with something under way, with help"},
     [](const Stats& s) { return s.helped; }},
    {{"overlap_alone", "phases", "the same without help: to compare, or since it did not pay"},
     [](const Stats& s) { return s.alone; }},
    {{"overlap_alone_outside", "ns", "in phases without help, time outside MPI before the wait"},
     [](const Stats& s) { return s.alone_outside_ns; }},
    {{"overlap_alone_unused", "ns",
      "of that, processor time that the program did not use (measured with overlap=watch)"},
     [](const Stats& s) { return s.alone_unused_ns; }},
    {{"overlap_alone_waited", "ns", "in phases without help, the waits, and starts that took long"},
     [](const Stats& s) { return s.alone_waited_ns; }},
    {{"overlap_alone_within", "ns", "the same, each up to the time outside MPI before it"},
     [](const Stats& s) { return s.alone_within_ns; }},
}};

constexpr auto kInfos = report::infos_of(kRows);

void count(std::span<std::uint64_t> values) {
  report::add_values(kRows, overlap_thread::stats(), values);
}

nlohmann::ordered_json section() {
  if (context().settings.overlap == "off") return {};
  const std::string& reason = overlap_thread::reason();
  return {{"on", reason.empty()}, {"reason", reason}};
}

/// Measurements where there is no thread.
std::vector<std::string> unhelped(const report::Counters& sums) {
  const auto waited = static_cast<double>(sums["overlap_alone_waited"]);
  if (waited <= kWorthReporting * ranks_summed()) return {};
  return {
      fmt::format("Nonblocking messages made no progress during {:.3f} s of computing, and "
                  "waits for them took {:.3f} s: overlap=auto may hide them.",
                  static_cast<double>(sums["overlap_alone_outside"]) * 1e-9, waited * 1e-9)};
}

std::vector<std::string> sentences(const report::Counters& sums) {
  const std::uint64_t helped = sums["overlap_helped"];
  const auto count = [&](const char* name) { return report::count_text(sums[name]); };
  if (context().settings.overlap == "off") return unhelped(sums);
  if (helped == 0 && sums["overlap_useful"] == 0) return {};
  const bool by_default = context().settings.overlap == "auto";
  if (by_default && static_cast<double>(sums["overlap_saved"]) <= kWorthReporting * ranks_summed())
    return {};
  if (helped == 0)
    return {
        fmt::format("Overlap: {} of {} polls, while the program computed, moved what others wanted "
                    "of its windows.",
                    count("overlap_useful"), count("overlap_polls"))};
  return {fmt::format(
      "Overlap: {} phases of computing with messages under way were helped, {} were not; {} "
      "of {} polls moved something.",
      count("overlap_helped"), count("overlap_alone"), count("overlap_useful"),
      count("overlap_polls"))};
}

std::vector<report::Verdict> verdicts(const report::Counters& sums) {
  return saved_verdict(sums, {"overlap_saved", "overlap_saved_least", "overlap_saved_most"},
                       "waits for what moved while the program computed");
}

}  // namespace

void register_overlap_report() {
  add_report_part({.counters = kInfos,
                   .count = count,
                   .name = "overlap",
                   .section = section,
                   .verdicts = verdicts,
                   .sentences = sentences});
}

}  // namespace hob::mpi
