// The start and the end, and what happens to communicators.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/errors_returned.hpp"
#include "mpi/core/extensions.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/heat/heating.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/libfabric.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/progress/ucx.hpp"
#include "mpi/workarounds/partitioned_announcements.hpp"

namespace hob::mpi::p2p {
namespace {

/// A flood that the report mentions: so many messages in the UMQ of one communicator.
constexpr std::uint64_t kFlood = 100000;

/// Part of every wait in MPI.
void poll() {
  if (!gate.try_lock()) return;
  dequeue_all();
  gate.unlock();
}

/// The same by the thread of overlap. An error handler of the program's hears of what went wrong in
/// its next call (PostedReceive::is_unreported). A duplicate of a datatype may end here, and with
/// it the copies of its attributes. With many threads, one of them may be setting the error
/// handler.
bool poll_by_thread() {
  const bool alone = parts_under_way.load(std::memory_order_relaxed) == 1;
  if (!alone || many_threads || (delete_callbacks.load(std::memory_order_relaxed) & kDatatypes))
    return false;
  const std::unique_lock guard(gate, std::try_to_lock);
  if (!guard || matcher().pending == 0) return false;
  const std::vector<Channel*>& active = matcher().active;
  for (std::size_t i = active.size(); i-- > 0;) {
    if (i >= active.size()) continue;
    Channel& channel = *active[i];
    const ErrorsReturned errors(channel.comm, MPI_WIN_NULL);
    channel.errors_return = true;
    ++channel.references;  // the last receive may be one for which no thread waits
    dequeue(channel);
    channel.errors_return = false;
    drop_reference(channel);
  }
  return true;
}

void repost_all() {
  const std::lock_guard guard(gate);
  while (!matcher().active.empty()) repost_natively(*matcher().active.back());
}

void measure_costs() {
  match::MatchCosts& costs = takeover().costs;
  costs.step =
      tuning::matching::kStepsPerEntry * match::measure_list_step() * ticks_per_nanosecond();
  costs.dequeue = takeover().vain_poll = tuning::matching::kUntimedSteps * costs.step;
}

/// A draw from any source fails where the library's own receives do not.
void stay_out_of_failures() {
  Takeover& t = takeover();
  if (t.mode == Takeover::Mode::never || !survives_failures()) return;
  t.mode = Takeover::Mode::never;
  note(
      "All receives were left to the MPI library: the job is to survive the failure of processes "
      "(--with-ft).");
}

}  // namespace

void prepare() {
  const settings::Settings& settings = context().settings;
  if (!match::parse_strategy(settings.match_strategy)) {
    if (launcher_rank() <= 0)
      std::fprintf(
          stderr,
          "hob: match_strategy = %s is unknown: default, flat, list, lla-N, source-array or "
          "hash-N\n",
          settings.match_strategy.c_str());
    end_at_start();
  }
  // To libfabric, every message that Hob dequeues is unexpected; `auto` has few of them at a time.
  if (settings.match == "always" && !settings.off) keep_unexpected_messages();
}

void start() {
  Takeover& t = takeover();
  const settings::Settings& settings = context().settings;
  using Mode = Takeover::Mode;
  t.mode = settings.match == "always"  ? Mode::always
           : settings.match == "never" ? Mode::never
                                       : Mode::automatic;
  stay_out_of_failures();
  t.sees_announcements = may_see_announcements();
  match::Config config = match::parse_strategy(settings.match_strategy).value_or(match::Config{});
  config.observer = heating::observer();
  matcher().engine = match::make_engine(config);
  t.user_threshold = settings.match_threshold;
  t.most_bytes = settings.match_unexpected;
  t.lone_waits_in_library = library::waits_sooner(context().mpi_version);
  const bool few_are_sooner = t.mode == Mode::always && t.lone_waits_in_library && !many_threads;
  t.few = few_are_sooner ? settings.match_repost : 0;
  measure_costs();
  add_poller({poll, repost_all, poll_by_thread});
}

void finish() {
  repost_all();
  const std::lock_guard guard(gate);
  std::uint64_t longest = 0;
  for (const Channel* channel : all_channels())
    longest = std::max(longest, channel->meters.arrived.stats().max_length);
  if (longest > kFlood)
    note(fmt::format("up to {} unexpected messages were in the UMQ at a time on one communicator",
                     longest));
}

void leave_to_library() {
  const std::lock_guard guard(gate);
  while (!matcher().active.empty()) repost_natively(*matcher().active.back());
  takeover().mode = Takeover::Mode::never;
  for (Channel* channel : all_channels()) channel->read_hints();
}

void repost_natively(MPI_Comm comm) {
  const std::lock_guard guard(gate);
  if (Channel* channel = known_channel(comm)) repost_natively(*channel);
}

void about_to_go(MPI_Comm comm) {
  // The program's own callbacks may free communicators, too, wherever the library calls them.
  const auto guard = gate.unless_mine();
  Channel* channel = known_channel(comm);
  if (!channel) return;
  repost_natively(*channel);
  // The program's callbacks may still receive what Hob has.
  if (channel->umq_length != 0)
    channel->ends = true;
  else
    forget(*channel);
}

void gone(MPI_Comm comm) {
  const auto guard = gate.unless_mine();
  // Another thread may have made another communicator with this handle meanwhile.
  if (Channel* channel = known_channel(comm); channel && channel->ends) forget(*channel);
}

void stays(MPI_Comm comm) {
  const auto guard = gate.unless_mine();
  if (Channel* channel = known_channel(comm)) channel->ends = false;
}

void forget_communicators() {
  const std::lock_guard guard(gate);
  for (Channel* channel : all_channels())
    if (channel->umq_length == 0) forget(*channel);
}

void hints_changed(MPI_Comm comm) {
  const std::lock_guard guard(gate);
  settle_fast_path();
  Channel* channel = known_channel(comm);
  if (!channel) return;
  repost_natively(*channel);
  channel->read_hints();
}

void foreign_processes_possible() {
  const std::lock_guard guard(gate);
  takeover().foreign_processes_possible = true;
}

bool may_dequeue_with_threads() {
  const std::string& match = context().settings.match;
  // Over libfabric, `auto` leaves all to the library then (Channel).
  return match == "always" ||
         (match != "never" && (library::kTraits.has_progress_callbacks || ucx::present()));
}

bool may_dequeue() { return takeover().mode != Takeover::Mode::never; }

}  // namespace hob::mpi::p2p
