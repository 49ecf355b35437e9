// The start and the end, and what happens to communicators.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/extensions.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/heat/heating.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/library.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/progress/progress.hpp"

namespace hob::mpi::p2p {
namespace {

/// A flood that the report mentions: so many messages in the UMQ of one communicator.
constexpr std::uint64_t kFlood = 100000;

/// Part of every wait in MPI.
void look() {
  if (!gate.try_lock()) return;
  dequeue_all();
  gate.unlock();
}

void repost_all() {
  const std::lock_guard guard(gate);
  while (!matcher().active.empty()) repost_natively(*matcher().active.back());
}

void measure_costs() {
  match::MatchCosts& costs = matcher().costs;
  costs.step =
      tuning::matching::kStepsPerEntry * match::measure_list_step() * ticks_per_nanosecond();
  costs.dequeue = matcher().vain_look = tuning::matching::kUntimedSteps * costs.step;
}

/// A draw from any source fails where the library's own receives do not.
void stay_out_of_failures() {
  Matcher& m = matcher();
  if (m.mode == Matcher::Mode::never || !survives_failures()) return;
  m.mode = Matcher::Mode::never;
  note(
      "All receives were left to the MPI library: the job is to survive the failure of processes "
      "(--with-ft).");
}

/// Open MPI 5, and a program that may use partitioned communication. One that refers to no function
/// of MPI's finds all of them by name, these too.
bool may_see_announcements() {
#if defined(OPEN_MPI)
  return real::find("PMPI_Psend_init") &&
         (program_refers_to("psend_init") || program_refers_to("precv_init") ||
          !program_refers_to("mpi_init"));
#else
  return false;
#endif
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
  // To libfabric, every message that Hob dequeues is unexpected. Its tcp provider keeps 64 of a
  // peer by default; what is probed for beyond these it may forget.
  if (settings.match == "always" && !settings.off) setenv("FI_TCP_MAX_SAVED", "1000000", 0);
}

void start() {
  Matcher& m = matcher();
  const settings::Settings& settings = context().settings;
  using Mode = Matcher::Mode;
  m.mode = settings.match == "always"  ? Mode::always
           : settings.match == "never" ? Mode::never
                                       : Mode::automatic;
  stay_out_of_failures();
  m.sees_announcements = may_see_announcements();
  match::Config config = match::parse_strategy(settings.match_strategy).value_or(match::Config{});
  config.observer = heating::observer();
  m.engine = match::make_engine(config);
  m.user_threshold = settings.match_threshold;
  m.lone_waits_in_library = library::waits_sooner(context().mpi_version);
  const bool few_are_sooner = m.mode == Mode::always && m.lone_waits_in_library && !many_threads;
  m.few = few_are_sooner ? settings.match_repost : 0;
  measure_costs();
  add_poller({look, repost_all});
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
  matcher().mode = Matcher::Mode::never;
  for (Channel* channel : all_channels()) channel->read_hints();
}

void repost_natively(MPI_Comm comm) {
  const std::lock_guard guard(gate);
  if (Channel* channel = known_channel(comm)) repost_natively(*channel);
}

bool about_to_go(MPI_Comm comm) {
  // The program's own callbacks may free communicators, too, wherever the library calls them.
  const auto guard = gate.unless_mine();
  Channel* channel = known_channel(comm);
  if (!channel) return false;
  repost_natively(*channel);
  // The program's callbacks may still receive what Hob has.
  if (channel->umq_length != 0) return true;
  forget(*channel);
  return false;
}

void gone(MPI_Comm comm) {
  const auto guard = gate.unless_mine();
  if (Channel* channel = known_channel(comm)) forget(*channel);
}

void hints_changed(MPI_Comm comm) {
  const std::lock_guard guard(gate);
  settle_express();
  Channel* channel = known_channel(comm);
  if (!channel) return;
  repost_natively(*channel);
  channel->read_hints();
}

void worlds_may_meet() {
  const std::lock_guard guard(gate);
  matcher().worlds_may_meet = true;
}

bool may_dequeue() { return matcher().mode != Matcher::Mode::never; }

}  // namespace hob::mpi::p2p
