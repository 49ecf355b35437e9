// The life of a ghost: requests in, replies out, and as little as possible of anything else.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "ghost/server.hpp"
#include "ghost/waiting.hpp"
#include "mpi/core/context.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/ghost/sockets.hpp"
#include "mpi/ghost/transport.hpp"
#include "mpi/ghost/world.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/throttle.hpp"

namespace hob::mpi {
namespace {

/// Sleeping until a message may have come: on the sockets of the process, and on a pipe that users
/// of this node write to. If messages come that no socket announced (a network without sockets),
/// sleeps get short.
class Bed {
 public:
  Bed(GhostBoard& board, int bell, bool timed) : board_(board), bell_(bell), trusted_(!timed) {}

  /// Whether something woke it.
  template <class Arrived>
  bool sleep(std::uint64_t longest_ns, Arrived arrived) {
    slept_ = true;
    if (!trusted_) {
      nap();
      return false;
    }
    board_.asleep.store(1, std::memory_order_seq_cst);
    // Anything that came before the flag was up would not ring.
    if (!arrived()) {
      ++board_.sleeps;
      const int woken = rest(std::min(longest_ns, patience_ns_));
      if (woken < 0) nap();
      announced_ = woken > 0;
      patience_ns_ = woken > 0 ? shortest_ns : std::min(2 * patience_ns_, longest_ns);
    } else {
      announced_ = true;
    }
    board_.asleep.store(0, std::memory_order_relaxed);
    return announced_;
  }

  /// For a moment, and the longer the more there were since something was done: it costs less and
  /// less. A message ends it.
  void nap() {
    constexpr unsigned alike = 64;
    constexpr unsigned doublings = 3;
    const long ns = 60'000L << std::min(naps_++ / alike, doublings);
    if (trusted_ && rest(static_cast<std::uint64_t>(ns)) >= 0) return;
    timespec nap{0, ns};
    ::nanosleep(&nap, nullptr);
  }

  /// Told of messages.
  void worked() {
    useless_ = 0;
    naps_ = 0;
    if (slept_ && trusted_ && !announced_ && !sockets_.look_again() && ++unannounced_ >= 20)
      trusted_ = false;
    slept_ = false;
  }

 private:
  /// Number of descriptors that have something to say; -1 if there are none.
  int rest(std::uint64_t ns) {
    const int woken = sockets_.wait(bell_, ns);
    std::array<char, 64> drain;
    while (woken > 0 && sockets_.readable(bell_) && ::read(bell_, drain.data(), drain.size()) > 0) {
    }
    // A socket that is always readable and never brings a message (one that the launcher reads,
    // say) would keep the ghost awake.
    if (woken > 0 && ++useless_ >= 200) {
      useless_ = 0;
      sockets_.ignore_readable(bell_);
    }
    return woken;
  }

  static constexpr std::uint64_t shortest_ns = 2'000'000;

  GhostBoard& board_;
  int bell_;
  bool trusted_;
  bool announced_ = false;
  bool slept_ = false;
  unsigned unannounced_ = 0;
  unsigned useless_ = 0;
  unsigned naps_ = 0;
  std::uint64_t patience_ns_ = shortest_ns;
  Sockets sockets_;
};

/// Receives kept posted for requests of anybody, taken in the order in which they were posted, so
/// that messages of one origin are never overtaken.
class Inbox {
 public:
  explicit Inbox(MPI_Comm wire) : wire_(wire) {
    for (Slot& slot : slots_) post(slot);
  }
  ~Inbox() {
    for (Slot& slot : slots_) {
      if (slot.request == MPI_REQUEST_NULL) continue;
      real::Cancel(&slot.request);
      real::Wait(&slot.request, MPI_STATUS_IGNORE);
    }
  }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  template <class Take>
  bool poll(Take take) {
    if (used_ > slots_.size() / 2) refill();
    Slot& slot = slots_[next_];
    int flag = 0;
    MPI_Status status;
    real::Test(&slot.request, &flag, &status);
    if (!flag) return false;
    int bytes = 0;
    real::Get_count(&status, MPI_BYTE, &bytes);
    take(status.MPI_SOURCE,
         std::span<const std::byte>(slot.buffer.get(), static_cast<std::size_t>(bytes)));
    ++used_;
    next_ = (next_ + 1) % slots_.size();
    return true;
  }
  /// Posts the receives that were used up; later than their messages were answered, since somebody
  /// waits for the answers.
  void refill() {
    for (; used_ > 0; --used_) post(slots_[(next_ + slots_.size() - used_) % slots_.size()]);
  }
  /// Whether poll would find something, without taking it.
  bool arrived() {
    int flag = 0;
    real::Request_get_status(slots_[next_].request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }

 private:
  struct Slot {
    std::unique_ptr<std::byte[]> buffer = std::make_unique<std::byte[]>(ghost::message_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(Slot& slot) {
    real::Irecv(slot.buffer.get(), static_cast<int>(ghost::message_bytes), MPI_BYTE, MPI_ANY_SOURCE,
                static_cast<int>(ghost::request_tag), wire_, &slot.request);
  }
  MPI_Comm wire_;
  std::array<Slot, 32> slots_;
  std::size_t next_ = 0;
  std::size_t used_ = 0;  // not posted again yet: those in front of next_
};

/// Whether users of this node are still there. Launchers end a job that loses a process; where one
/// does not, the ghost would serve for ever.
class Watch {
 public:
  explicit Watch(const GhostWorld& world) : world_(world) {
    for (const int pid : world.pids) {
      const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
      if (fd >= 0) pidfds_.push_back({fd, POLLIN, 0});
    }
  }
  ~Watch() {
    for (const pollfd& each : pidfds_) ::close(each.fd);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// At this moment; looks ten times a second at most. Does not return if one is gone.
  void look(std::uint64_t now) {
    constexpr std::uint64_t period_ns = 100'000'000;
    if (now - looked_ < period_ns) return;
    looked_ = now;
    if (::poll(pidfds_.data(), pidfds_.size(), 0) <= 0) return;
    ::sleep(1);  // the launcher first
    std::fprintf(stderr, "hob: a rank of node %d ended without MPI_Finalize; ending the job\n",
                 world_.own_node);
    std::fflush(stderr);
    ::usleep(200'000);  // launchers forward what was said; some drop it when the job is aborted
    real::Abort(MPI_COMM_WORLD, 1);
    ::_exit(1);
  }

 private:
  const GhostWorld& world_;
  std::vector<pollfd> pidfds_;
  std::uint64_t looked_ = 0;
};

ghost::WaitStyle wait_style(const GhostWorld& world) {
  const std::string& name = context().settings.ghost_wait;
  if (name == "spin") return ghost::WaitStyle::spin;
  if (name == "yield") return ghost::WaitStyle::yield;
  if (name == "block") return ghost::WaitStyle::block;
  return world.crowded ? ghost::WaitStyle::shared : ghost::WaitStyle::eager;
}

}  // namespace

void serve(GhostWorld& world, GhostBoard& board, unsigned users) {
  using Step = ghost::Waiting::Step;
  const int bell = static_cast<int>(board.closed.load()) - 1;
  board.closed.store(0);
  GhostTransport transport(world, nullptr);
  ghost::Server server({world.arena, world.arena_bytes, &combine}, transport);
  ghost::Waiting waiting(ghost::Waiting::config_for(wait_style(world)));
  ghost::Courtesy courtesy;
  throttle(false);
  board.started_ns = clock_ns();
  {
    Inbox inbox(world.wire);
    Bed bed(board, bell, world.cliques);
    Watch watch(world);
    waiting.worked(board.started_ns);
    const pid_t parent = ::getppid();
    const bool may_block = waiting.block_ns() != 0;
    const bool gives_way = wait_style(world) == ghost::WaitStyle::shared;
    unsigned turn = 0;
    while (server.byes() < users || server.waiting() || server.sending()) {
      bool worked = false;
      const std::uint64_t begin = clock_ns();
      for (int burst = 0; burst < 16; ++burst) {
        const bool more = inbox.poll([&](int origin, std::span<const std::byte> bytes) {
          if (server.stats().messages == 0)
            courtesy = ghost::Courtesy();  // while all start, nobody is courteous
          server.message(origin, bytes);
        });
        if (!more) break;
        worked = true;
        if (gives_way && courtesy.taken()) break;
      }
      if (server.waiting() || server.sending()) worked = server.advance() || worked;
      if (worked) {
        const std::uint64_t end = clock_ns();
        board.busy_ns += end - begin;
        board.timeline.add(begin - board.started_ns, end - board.started_ns);
        waiting.worked(end);
        bed.worked();
        // Who gets the answer wants this core: sooner than after another look.
        if (gives_way && courtesy.taken() && courtesy.returned_soon(end))
          give_core_away(courtesy, end);
        continue;
      }
      inbox.refill();
      ghost::Waiting::Step step = waiting.idle(begin);
      if (step == Step::yield && may_block && !courtesy.returned_soon(begin)) step = Step::block;
      if (step == Step::block && courtesy.company() && waiting.sociable(begin)) step = Step::yield;
      // Data are on the way.
      if (step == Step::block && (server.transferring() || server.sending())) step = Step::yield;
      switch (step) {
        case Step::spin:
          ghost::relax();
          break;
        case Step::yield:
          if (courtesy.due(turn++)) give_core_away(courtesy, begin);
          break;
        case Step::block:
          watch.look(begin);
          // What holds a lock, or has not entered a fence yet, announces nothing.
          if (server.waiting()) {
            bed.nap();
            break;
          }
          // A launcher that died cannot end this process: go with it.
          if (!bed.sleep(waiting.block_ns(), [&] { return inbox.arrived(); }) &&
              ::getppid() != parent)
            ::_exit(1);
      }
    }
  }
  board.ended_ns = clock_ns();
  board.cpu_ns = process_nanoseconds();
  board.stats = server.stats();
  board.closed.store(1, std::memory_order_release);
}

}  // namespace hob::mpi
