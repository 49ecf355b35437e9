// Post, start, complete and wait of one ghost window.
#pragma once

#include <cstdint>
#include <vector>

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
  /// After all operations are complete: tells the targets.
  void complete();

  void post(MPI_Group group, int assertion);
  void wait();
  /// Whether the exposure epoch has ended.
  bool test();

 private:
  using Kind = PostStartMessages::Kind;
  struct Peer {
    int rank;   // in the internal communicator
    bool told;  // its message has come, or none is needed
  };
  struct Epoch {
    bool open = false;
    bool silent = false;  // MPI_MODE_NOCHECK: no posts are sent
    std::vector<Peer> peers;
  };

  static void open(Epoch& epoch, MPI_Group group, int assertion);
  bool told(Peer& peer, Kind kind);
  bool all_told(Epoch& epoch, Kind kind);

  std::uint64_t window_;
  Epoch access_;
  Epoch exposure_;
};

}  // namespace hob::mpi
