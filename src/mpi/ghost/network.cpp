#include "mpi/ghost/network.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "ghost/absence.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

using ghost::Absence;
using Round = Absence::Round;

constexpr int kTag = 1;  // nothing else is under way yet
/// MPI libraries and networks take other ways for short, medium and long data.
constexpr std::array<std::uint64_t, 3> kSizes{8, 2048, Absence::kBytes};
constexpr MPI_Aint kShown = offsetof(Absence, shown), kWritten = offsetof(Absence, written);

/// Those who try, ordered: of each node one rank, which puts and gets, and one ghost.
struct Participants {
  std::vector<int> origins, targets;  ///< by node: ranks in the internal communicator

  explicit Participants(const GhostWorld& world) : origins(world.ghosts.size(), -1) {
    for (const auto& ghosts : world.ghosts) targets.push_back(ghosts.front());
    for (std::size_t r = world.ranks.size(); r-- > 0;)
      if (world.ranks[r].ghost < 0)
        origins[static_cast<std::size_t>(world.ranks[r].node)] = static_cast<int>(r);
  }
  bool include(int rank) const {
    return std::count(origins.begin(), origins.end(), rank) +
               std::count(targets.begin(), targets.end(), rank) >
           0;
  }
  /// Its rank in a communicator of all of them, in the order of their ranks.
  int number(int rank) const {
    const auto before = [&](int each) { return each < rank; };
    return static_cast<int>(std::count_if(origins.begin(), origins.end(), before) +
                            std::count_if(targets.begin(), targets.end(), before));
  }
};

/// The window of all participants, in an epoch of shared locks. Collective.
class ProbeWindow {
 public:
  ProbeWindow(MPI_Comm comm, Absence* exposed) : comm_(comm) {
    const MPI_Aint bytes = exposed != nullptr ? sizeof *exposed : 0;
    int good = real::Win_create(exposed, bytes, 1, MPI_INFO_NULL, comm, &window_) == MPI_SUCCESS;
    if (good != 0) {
      real::Win_set_errhandler(window_, MPI_ERRORS_RETURN);
      good = real::Win_lock_all(MPI_MODE_NOCHECK, window_) == MPI_SUCCESS;
    }
    real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
    usable_ = good != 0;
  }
  /// One that not all could make is left: freeing it takes all.
  ~ProbeWindow() {
    if (!usable_) return;
    real::Win_unlock_all(window_);
    real::Win_free(&window_);
  }
  ProbeWindow(const ProbeWindow&) = delete;
  ProbeWindow& operator=(const ProbeWindow&) = delete;

  bool usable() const { return usable_; }
  MPI_Win handle() const { return window_; }
  MPI_Comm comm() const { return comm_; }

 private:
  MPI_Comm comm_;
  MPI_Win window_ = MPI_WIN_NULL;
  bool usable_ = false;
};

/// A rank that puts and gets while its target is outside MPI.
class ProbeOrigin {
 public:
  ProbeOrigin(const ProbeWindow& window, int target, bool shares_core)
      : window_(window), target_(target), shares_core_(shares_core) {}

  bool try_all() {
    bool good = true;
    for (std::uint64_t number = 1; good && number <= kSizes.size(); ++number)
      good = try_size({number, kSizes[number - 1], 0});
    notify({});
    return good;
  }

 private:
  bool try_size(Round round) {
    const int bytes = static_cast<int>(round.bytes);
    // Connections are made with both in MPI.
    const std::uint64_t begin = tick_nanoseconds();
    if (real::Put(out_.data(), bytes, MPI_BYTE, target_, kWritten, bytes, MPI_BYTE,
                  window_.handle()) != MPI_SUCCESS ||
        real::Get(in_.data(), bytes, MPI_BYTE, target_, kShown, bytes, MPI_BYTE,
                  window_.handle()) != MPI_SUCCESS ||
        real::Win_flush(target_, window_.handle()) != MPI_SUCCESS)
      return false;
    const std::uint64_t least =
        shares_core_ ? tuning::ghost::kAbsenceSharedNs : tuning::ghost::kAbsenceNs;
    round.wait_ns = std::clamp(tuning::ghost::kAbsenceTimes * (tick_nanoseconds() - begin), least,
                               tuning::ghost::kLongestAbsenceNs);
    notify(round);
    const bool good = try_absent(round);
    return real::Win_flush(target_, window_.handle()) == MPI_SUCCESS && good;
  }

  // The target leaves MPI some time after it was asked to: until then gets return an older number.
  // A flush may need the target though what it completes does not: then it returns when the target
  // shows the number no longer. The put that the target waits for is the last one.
  bool try_absent(const Round& round) {
    const std::uint64_t end = tick_nanoseconds() + round.wait_ns;
    const int bytes = static_cast<int>(round.bytes);
    do {
      if (!gets(round, end)) return false;
    } while (!Absence::is_marked(in_.data(), round));
    if (real::Put(out_.data(), bytes, MPI_BYTE, target_, kWritten, bytes, MPI_BYTE,
                  window_.handle()) != MPI_SUCCESS ||
        real::Win_flush(target_, window_.handle()) != MPI_SUCCESS || !gets(round, end) ||
        !Absence::is_marked(in_.data(), round))
      return false;
    Absence::mark(out_.data(), round, round.number);
    MPI_Request request = MPI_REQUEST_NULL;
    return real::Rput(out_.data(), bytes, MPI_BYTE, target_, kWritten, bytes, MPI_BYTE,
                      window_.handle(), &request) == MPI_SUCCESS &&
           completes(request, end);
  }

  bool gets(const Round& round, std::uint64_t end) {
    const int bytes = static_cast<int>(round.bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    return real::Rget(in_.data(), bytes, MPI_BYTE, target_, kShown, bytes, MPI_BYTE,
                      window_.handle(), &request) == MPI_SUCCESS &&
           completes(request, end);
  }

  // Whether in time. Later ones are waited for: the target comes back.
  bool completes(MPI_Request& request, std::uint64_t end) const {
    int done = 0;
    while (real::Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
      if (tick_nanoseconds() > end) {
        real::Wait(&request, MPI_STATUS_IGNORE);
        return false;
      }
      if (shares_core_) ::sched_yield();
    }
    return done != 0 && tick_nanoseconds() <= end;
  }

  void notify(Round round) const {
    real::Send(&round, sizeof round, MPI_BYTE, target_, kTag, window_.comm());
  }

  const ProbeWindow& window_;
  int target_;
  bool shares_core_;
  std::vector<std::byte> in_{Absence::kBytes}, out_{Absence::kBytes};
};

// In the target: whether each put has arrived in time.
bool stay_outside(const ProbeWindow& window, int origin, Absence& memory) {
  bool good = true;
  for (;;) {
    Round round{};
    if (real::Recv(&round, sizeof round, MPI_BYTE, origin, kTag, window.comm(),
                   MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return false;
    if (round.number == 0) return good;
    const std::uint64_t end = tick_nanoseconds() + round.wait_ns;
    memory.show(round, round.number);
    bool arrived = false;
    while (!(arrived = memory.arrived(round)) && tick_nanoseconds() < end) {
      const timespec nap{0, 20'000};
      ::nanosleep(&nap, nullptr);
    }
    memory.show(round, 0);
    good = good && arrived;
  }
}

}  // namespace

bool network_moves_data(const GhostWorld& world) {
  const std::size_t nodes = world.ghosts.size();
  if (nodes < 2) return false;
  const Participants all(world);
  const bool takes_part = all.include(world.rank);
  MPI_Comm comm = MPI_COMM_NULL;
  real::Comm_split(world.internal_comm, takes_part ? 0 : MPI_UNDEFINED, world.rank, &comm);
  int good = 1;
  if (takes_part) {
    const auto node = static_cast<std::size_t>(world.own_node);
    const bool is_target = world.own().ghost >= 0;
    const auto memory = is_target ? std::make_unique<Absence>() : nullptr;
    {
      const ProbeWindow window(comm, memory.get());
      if (!window.usable()) {
        good = 0;
      } else if (is_target) {
        good = stay_outside(window, all.number(all.origins[(node + nodes - 1) % nodes]), *memory);
      } else {
        good =
            ProbeOrigin(window, all.number(all.targets[(node + 1) % nodes]), world.oversubscribed)
                .try_all();
      }
    }
    real::Comm_free(&comm);
  }
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, world.internal_comm);
  return good != 0;
}

}  // namespace hob::mpi
