#include "mpi/ghost/service.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.hpp"
#include "ghost/server.hpp"
#include "ghost/waiting.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/ghost/departure.hpp"
#include "mpi/ghost/idle_waiter.hpp"
#include "mpi/ghost/inbox.hpp"
#include "mpi/ghost/job/peers_watch.hpp"
#include "mpi/ghost/transport.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/throttle.hpp"
#include "mpi/progress/yielding.hpp"
#include "mpi/workarounds/partitioned.hpp"
#include "mpi/workarounds/sessions.hpp"
#include "pay/yield_predictor.hpp"

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
        waiting_(ghost::Waiting::config_for(style_)),
        inbox_(world.internal_comm),
        waiter_(own.status, own.wakeup_fd, world.cliques),
        watch_(application_pids(world), world.sees_peers),
        partitioned_(world) {}

  /// Until the node's application ranks have said that they end.
  void run() {
    status_.started_ns = tick_nanoseconds();
    waiting_.worked(status_.started_ns);
    unsigned turn = 0;
    while (server_.shutdowns() < application_ranks_ || server_.waiting() || server_.sending()) {
      const std::uint64_t begin = tick_nanoseconds();
      partitioned_.advance();
      if (poll()) {
        worked(begin);
        continue;
      }
      inbox_.refill();
      switch (next_step(begin)) {
        case Step::spin:
          hob::relax();
          break;
        case Step::yield:
          if (predictor_.due(turn++)) yielding::give_core_away(predictor_, begin);
          break;
        case Step::block:
          block(begin);
      }
    }
    status_.ended_ns = tick_nanoseconds();
    status_.cpu_ns = process_nanoseconds();
    status_.stats = server_.stats();
  }

 private:
  using Step = ghost::Waiting::Step;

  bool shares_core() const { return style_ == ghost::WaitStyle::shared; }

  /// One look at everything. Whether something was done.
  bool poll() {
    bool worked = false;
    for (int burst = 0; burst < tuning::ghost::kBurst; ++burst) {
      const bool more = inbox_.poll([&](int origin, std::span<const std::byte> bytes) {
        // While all start, no process gives the core back soon.
        if (server_.stats().messages == 0) predictor_ = YieldPredictor();
        server_.message(origin, bytes);
      });
      if (!more) break;
      worked = true;
      if (shares_core() && predictor_.taken()) break;
    }
    if (server_.waiting() || server_.sending()) worked = server_.advance() || worked;
    return worked;
  }

  void worked(std::uint64_t begin) {
    const std::uint64_t end = tick_nanoseconds();
    status_.busy_ns += end - begin;
    status_.timeline.add(begin - status_.started_ns, end - status_.started_ns);
    waiting_.worked(end);
    waiter_.worked();
    // Who gets the answer wants this core: sooner than after another look.
    if (shares_core() && predictor_.taken() && predictor_.returns_soon(end))
      yielding::give_core_away(predictor_, end);
  }

  Step next_step(std::uint64_t now) const {
    Step step = waiting_.idle(now);
    if (step == Step::yield && waiting_.block_ns() != 0 && !predictor_.returns_soon(now))
      step = Step::block;
    if (step == Step::block && predictor_.corunners_idle() && waiting_.may_stay_awake(now))
      step = Step::yield;
    // Data are on the way.
    if (step == Step::block &&
        (server_.transferring() || server_.sending() || partitioned_.under_way()))
      step = Step::yield;
    return step;
  }

  void block(std::uint64_t now) {
    end_without_application_ranks(now);
    // What holds a lock, or has not entered a fence yet, announces nothing.
    if (server_.waiting()) return waiter_.sleep_for();
    // A launcher that died cannot end this process: go with it.
    if (!waiter_.sleep(waiting_.block_ns(), [&] { return inbox_.arrived(); }) &&
        ::getppid() != parent_)
      ::_exit(1);
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
  ghost::Waiting waiting_;
  YieldPredictor predictor_;
  Inbox inbox_;
  IdleWaiter waiter_;
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
