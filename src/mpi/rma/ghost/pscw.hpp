// Post, start, complete and wait of one ghost window.
#pragma once

#include <cstdint>
#include <vector>

#include "ghost/target.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/ghost/post_start.hpp"

namespace hob::mpi {

/// Every call holds the client; those that wait give it away meanwhile.
class PscwEpochs {
 public:
  /// `window`: its number (GhostTargets::window_number).
  explicit PscwEpochs(std::uint64_t window) : window_(window) {}

  bool accessing() const { return access_.open; }
  bool exposing() const { return exposure_.open; }

  void start(MPI_Group group, int assertion);
  /// Waits until a target, by its rank in the internal communicator, has posted: before that
  /// nothing may touch it.
  void wait_for_post(int rank);
  /// Before complete(): so many operations on this target's memory (its rank in the internal
  /// communicator) may not be there yet, for which its owner is to wait.
  void count(int rank, std::uint32_t operations);
  /// After all other operations are complete: notifies the targets.
  void complete();

  void post(MPI_Group group, int assertion);
  /// `own`: where this process shows its memory of the window.
  void wait(const ghost::Target& own);
  /// Whether the exposure epoch has ended.
  bool test(const ghost::Target& own);

 private:
  using Kind = PostStartMessages::Kind;
  struct Peer {
    int rank;                      // in the internal communicator
    bool notified;                 // its message has come, or none is needed
    std::uint32_t operations = 0;  // of this process, that it is to wait for
  };
  struct Epoch {
    bool open = false;
    bool unchecked = false;  // MPI_MODE_NOCHECK: no posts are sent
    std::vector<Peer> peers;
  };

  static void open(Epoch& epoch, MPI_Group group, int assertion);
  bool notified(Peer& peer, Kind kind);
  bool all_notified(Epoch& epoch, Kind kind);
  bool ended(const ghost::Target& own);

  std::uint64_t window_;
  /// Operations on this process's memory that others have announced since the window was made, as
  /// Target::counted.
  std::uint32_t expected_ = 0;
  Epoch access_;
  Epoch exposure_;
};

}  // namespace hob::mpi
