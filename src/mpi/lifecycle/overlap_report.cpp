#include "mpi/lifecycle/overlap_report.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "mpi/core/context.hpp"
#include "mpi/progress/overlap.hpp"
#include "mpi/report/registry.hpp"

namespace hob::mpi {
namespace {

using overlap_thread::Stats;

constexpr report::CounterRows<Stats, 7> kRows{{
    {{"overlap_polls", "polls", "looks at the network while the program was outside MPI"},
     [](const Stats& s) { return s.polls; }},
    {{"overlap_useful", "polls", "of these, looks that moved something"},
     [](const Stats& s) { return s.useful; }},
    {{"overlap_taken", "ns", "processor time that the overlap thread took"},
     [](const Stats& s) { return s.taken_ns; }},
    {{"overlap_delayed", "ns", "time for which calls waited until it had left the MPI library"},
     [](const Stats& s) { return s.waited_ns; }},
    {{"overlap_saved", "ns", "time by which waits were shorter, as waits without help tell"},
     [](const Stats& s) { return s.saved_ns; }},
    {{"overlap_helped", "phases", "phases of computing with something under way, with help"},
     [](const Stats& s) { return s.helped; }},
    {{"overlap_alone", "phases", "the same without help: to compare, or since it did not pay"},
     [](const Stats& s) { return s.alone; }},
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

std::vector<std::string> sentences(const report::Counters& sums) {
  const std::uint64_t helped = sums["overlap_helped"];
  if (helped == 0 && sums["overlap_useful"] == 0) return {};
  if (helped == 0)
    return {
        fmt::format("Overlap: {} of {} looks, while the program computed, moved what others wanted "
                    "of its windows.",
                    sums["overlap_useful"], sums["overlap_polls"])};
  std::string text = fmt::format(
      "Overlap: {} phases of computing with messages under way were helped, {} were left alone; {} "
      "of {} looks moved something",
      helped, sums["overlap_alone"], sums["overlap_useful"], sums["overlap_polls"]);
  if (const auto saved = static_cast<double>(sums["overlap_saved"]);
      saved > kWorthTelling * ranks_summed())
    text += fmt::format("; waits were {:.3f} s shorter in all", saved * 1e-9);
  return {text + "."};
}

}  // namespace

void register_overlap_report() {
  add_report_part({.counters = kInfos,
                   .count = count,
                   .name = "overlap",
                   .section = section,
                   .sentences = sentences});
}

}  // namespace hob::mpi
