#include "mpi/ghost/service.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "base/clock.hpp"
#include "ghost/server.hpp"
#include "ghost/waiting.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/ghost/departure.hpp"
#include "mpi/ghost/inbox.hpp"
#include "mpi/ghost/job/peers_watch.hpp"
#include "mpi/ghost/transport.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/sleeper.hpp"
#include "mpi/progress/throttle.hpp"
#include "mpi/progress/yielding.hpp"
#include "mpi/workarounds/partitioned.hpp"
#include "mpi/workarounds/sessions.hpp"
#include "pay/waiter.hpp"

namespace hob::mpi {
namespace {

ghost::WaitStyle wait_style(const GhostWorld& world) {
  const std::string& name = context().settings.ghost_wait;
  if (name == "spin") return ghost::WaitStyle::spin;
  if (name == "yield") return ghost::WaitStyle::yield;
  if (name == "block") return ghost::WaitStyle::block;
  return world.oversubscribed ? ghost::WaitStyle::shared : ghost::WaitStyle::eager;
}

/// The loop of a ghost: requests in, replies out, and as little as possible of anything else.
class Service {
 public:
  Service(GhostWorld& world, const OwnGhost& own)
      : world_(world),
        status_(own.status),
        application_ranks_(own.application_ranks),
        transport_(world, nullptr),
        server_({world.arena, world.arena_bytes, &combine}, transport_),
        style_(wait_style(world)),
        waiter_(ghost::waiting_of(style_)),
        inbox_(world.internal_comm),
        sleeper_({.wakeup_fd = own.wakeup_fd,
                  .asleep = &own.status.asleep,
                  .timed = world.cliques,
                  .most_without_event = tuning::ghost::kMostWithoutEvent,
                  .times = {.first_ns = tuning::ghost::kFirstSleepNs,
                            .unproven_ns = tuning::ghost::kUnprovenSleepNs,
                            .least_proven_ns = 0}}),
        watch_(application_pids(world), world.sees_peers),
        partitioned_(world) {}

  /// Until the node's application ranks have said that they end.
  void run() {
    status_.started_ns = tick_nanoseconds();
    waiter_.worked(status_.started_ns);
    while (server_.shutdowns() < application_ranks_ || server_.waiting() || server_.sending()) {
      const std::uint64_t begin = tick_nanoseconds();
      partitioned_.advance();
      if (poll()) {
        worked(begin);
        continue;
      }
      inbox_.refill();
      switch (waiter_.next(begin, !data_under_way())) {
        case Waiter::Step::poll:
          hob::relax();
          break;
        case Waiter::Step::yield:
          yielding::give_core_away(waiter_.yields(), begin);
          break;
        case Waiter::Step::sleep:
          sleep(begin);
      }
    }
    status_.ended_ns = tick_nanoseconds();
    status_.cpu_ns = process_nanoseconds();
    status_.stats = server_.stats();
  }

 private:
  bool shares_core() const { return style_ == ghost::WaitStyle::shared; }

  /// One look at everything. Whether something was done.
  bool poll() {
    bool worked = false;
    for (int burst = 0; burst < tuning::ghost::kBurst; ++burst) {
      const bool more = inbox_.poll([&](int origin, std::span<const std::byte> bytes) {
        // While all start, no process gives the core back soon.
        if (server_.stats().messages == 0) waiter_.yields() = YieldPredictor();
        server_.message(origin, bytes);
      });
      if (!more) break;
      worked = true;
      if (shares_core() && waiter_.yields().taken()) break;
    }
    if (server_.waiting() || server_.sending()) worked = server_.advance() || worked;
    return worked;
  }

  void worked(std::uint64_t begin) {
    const std::uint64_t end = tick_nanoseconds();
    status_.busy_ns += end - begin;
    status_.timeline.add(begin - status_.started_ns, end - status_.started_ns);
    waiter_.worked(end);
    sleeper_.worked();
    // Who gets the answer wants this core: sooner than after another look.
    if (shares_core() && waiter_.shares_core(end)) yielding::give_core_away(waiter_.yields(), end);
  }

  bool data_under_way() {
    return server_.transferring() || server_.sending() || partitioned_.under_way();
  }

  void sleep(std::uint64_t now) {
    end_without_application_ranks(now);
    // What holds a lock, or has not entered a fence yet, announces nothing.
    if (server_.waiting()) return sleeper_.sleep_for();
    const bool woken = sleeper_.sleep(waiter_.sleep_ns(), [&] { return inbox_.arrived(); });
    status_.sleeps = sleeper_.sleeps();
    // A launcher that died cannot end this process: go with it.
    if (!woken && ::getppid() != parent_) ::_exit(1);
  }

  /// Launchers end a job that loses a process; where one does not, the ghost would serve for ever.
  void end_without_application_ranks(std::uint64_t now) {
    if (now - looked_ < tuning::ghost::kWatchPeriodNs) return;
    looked_ = now;
    if (watch_.some_ended().empty()) return;
    ::sleep(1);  // the launcher first
    end_job("a rank of node " + std::to_string(world_.own_node) + " ended without MPI_Finalize");
  }

  GhostWorld& world_;
  GhostStatus& status_;
  unsigned application_ranks_;
  GhostTransport transport_;
  ghost::Server server_;
  ghost::WaitStyle style_;
  Waiter waiter_;
  Inbox inbox_;
  Sleeper sleeper_;
  os::ProcessMonitor watch_;
  PartitionedTurn partitioned_;
  std::uint64_t looked_ = 0;
  pid_t parent_ = ::getppid();
};

}  // namespace

void live_as_ghost(GhostWorld& world, const OwnGhost& own) {
  // What the program had buffered for its output before MPI_Init is its other ranks' to print.
  if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0)
    ::dup2(nowhere, STDOUT_FILENO);
  throttle(false);
  Service(world, own).run();  // its receives end before the application ranks go on
  own.status.closed.store(1, std::memory_order_release);
  leave_ghosts();
  finalize_library();
  await_sessions(world, own);
  exit_as_ghost(0);
}

}  // namespace hob::mpi
