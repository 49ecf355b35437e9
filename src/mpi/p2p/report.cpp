// The queues of every communicator in the report.
#include "mpi/report/report.hpp"

#include <fmt/core.h>

#include <mutex>

#include "match/histogram.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi::p2p {
namespace {

/// Ended communicators that are told of one by one; later ones are summed up.
constexpr std::size_t kMaxEnded = 64;

struct Queues {
  std::string name;
  std::uint64_t communicators = 1;
  ChannelStats stats;
  match::DepthStats posted, arrived;
};

struct Ended {
  std::vector<Queues> queues;
  Queues others{.name = "others", .communicators = 0, .stats = {}, .posted = {}, .arrived = {}};
};

Ended& ended() {
  static auto* the = new Ended;
  return *the;
}

void add(match::Log2Histogram& to, const match::Log2Histogram& from) {
  for (std::size_t i = 0; i < to.counts.size(); ++i) to.counts[i] += from.counts[i];
}

void add(match::DepthStats& to, const match::DepthStats& from) {
  to.appended += from.appended;
  to.matched += from.matched;
  to.withdrawn += from.withdrawn;
  to.missed += from.missed;
  to.estimated += from.estimated;
  to.depth_sum += from.depth_sum;
  to.max_length = std::max(to.max_length, from.max_length);
  add(to.length, from.length);
  add(to.depth, from.depth);
}

/// A lone receive: the queue had one entry, then none; the search looked at one.
void add_lone(Queues& queues) {
  const std::uint64_t lone = queues.stats.lone;
  if (lone == 0) return;
  queues.posted.appended += lone;
  queues.posted.matched += lone;
  queues.posted.depth_sum += lone;
  queues.posted.max_length = std::max<std::uint64_t>(queues.posted.max_length, 1);
  queues.posted.length.counts[0] += lone;
  queues.posted.length.counts[1] += lone;
  queues.posted.depth.counts[1] += lone;
}

Queues queues_of(const Channel& channel) {
  Queues queues;
  if (!channel.gone) {
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    real::Comm_get_name(channel.comm, name, &length);
    queues.name = name;
  }
  if (queues.name.empty()) queues.name = fmt::format("communicator {}", channel.context);
  queues.stats = channel.stats;
  queues.posted = channel.posted.stats();
  queues.arrived = channel.arrived.stats();
  add_lone(queues);
  return queues;
}

std::uint64_t receives(const Queues& q) {
  return q.stats.native + q.stats.held + q.stats.immediate - q.stats.handed_over;
}

bool used(const Queues& queues) {
  return queues.posted.appended != 0 || queues.arrived.appended != 0;
}

std::string text(const match::Log2Histogram& histogram, const char* name) {
  std::size_t size = histogram.counts.size();
  while (size != 0 && histogram.counts[size - 1] == 0) --size;
  std::string counts;
  for (std::size_t i = 0; i < size; ++i)
    counts += fmt::format("{}{}", i ? "," : "", histogram.counts[i]);
  return fmt::format(R"("{}":{{"unit":"entries","scale":"log2","counts":[{}]}})", name, counts);
}

std::string quoted(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string text(const Queues& q) {
  return fmt::format(
      R"({{"comm":"{}","counters":{{"communicators":{},"receives":{},"watched":{},"native":{},"held":{},"immediate":{},"drawn":{},)"
      R"("handed_over":{},"lent":{},"emptied":{},"cancelled":{},"prq_max":{},"umq_max":{},"prq_depth_sum":{},"umq_depth_sum":{},)"
      R"("prq_missed":{},"umq_missed":{}}},"histograms":{{{},{},{},{}}}}})",
      quoted(q.name), q.communicators, receives(q), q.posted.appended, q.stats.native, q.stats.held,
      q.stats.immediate, q.stats.drawn, q.stats.handed_over, q.stats.lent, q.stats.emptied,
      q.posted.withdrawn, q.posted.max_length, q.arrived.max_length, q.posted.depth_sum,
      q.arrived.depth_sum, q.posted.missed, q.arrived.missed, text(q.posted.length, "prq_length"),
      text(q.arrived.length, "umq_length"), text(q.posted.depth, "prq_depth"),
      text(q.arrived.depth, "umq_depth"));
}

std::string json() {
  const std::lock_guard guard(state().gate);
  settle_express();
  std::string list;
  const auto append = [&](const Queues& queues) {
    if (!used(queues)) return;
    if (!list.empty()) list += ',';
    list += text(queues);
  };
  for (const Channel* channel : all_channels()) append(queues_of(*channel));
  for (const Queues& queues : ended().queues) append(queues);
  append(ended().others);
  return list.empty() ? std::string() : fmt::format("[{}]", list);
}

void count(report::Counters& counters) {
  using report::Counter;
  const std::lock_guard guard(state().gate);
  settle_express();
  const auto add_up = [&](const Queues& q) {
    counters[Counter::receives] += receives(q);
    counters[Counter::receives_held] += q.stats.held;
    counters[Counter::receives_immediate] += q.stats.immediate;
    counters[Counter::receives_handed_over] += q.stats.handed_over;
    counters[Counter::receives_lent] += q.stats.lent;
    counters[Counter::messages_drawn] += q.stats.drawn;
  };
  for (const Channel* channel : all_channels()) add_up(queues_of(*channel));
  for (const Queues& queues : ended().queues) add_up(queues);
  add_up(ended().others);
}

}  // namespace

void remember(const Channel& channel) {
  const Queues queues = queues_of(channel);
  if (!used(queues)) return;
  Ended& the = ended();
  if (the.queues.size() < kMaxEnded) {
    the.queues.push_back(queues);
    return;
  }
  ++the.others.communicators;
  the.others.stats.add(queues.stats);
  add(the.others.posted, queues.posted);
  add(the.others.arrived, queues.arrived);
}

void report_queues() { add_report_part({"queues", json, count}); }

}  // namespace hob::mpi::p2p
