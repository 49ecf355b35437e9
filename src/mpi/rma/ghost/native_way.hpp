// Contiguous puts and gets of one ghost window that the MPI library carries out itself, to targets
// of other nodes, where the network needs no processor of theirs (docs/developers/ghosts.md,
// "Natively").
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/ghost/targets.hpp"

namespace hob::mpi {

/// Every call holds the client. Programs of one thread only: native calls block without giving the
/// client away.
class NativeWay {
 public:
  using Target = GhostTargets::Target;
  /// Of bytes that lie together at both ends.
  struct Move {
    void* origin;
    MPI_Aint disp;  ///< at the target
    MPI_Count bytes;
  };

  NativeWay() = default;
  NativeWay(const NativeWay&) = delete;
  NativeWay& operator=(const NativeWay&) = delete;

  /// Whether the network lets any process's operations go natively: the same in all processes.
  static bool wanted();
  /// Whether anything of this process may go natively at all.
  static bool possible();
  /// Whether the next put or get to this target goes natively. Not beside operations of a ghost
  /// that are under way, nor before a lock is known to be held.
  static bool takes(const Target& to);
  /// Issues it, inside the exposed memory. An error is the library's, and its error handler has
  /// been called.
  int issue(MPI_Win window, Target& to, bool get, const Move& move);

  /// A put or get of so many bytes that took `ns` to issue went to the ghost. Begins a trial, if
  /// one is due.
  void by_ghost(MPI_Win window, Target& to, std::uint64_t bytes, std::uint64_t ns);
  /// Whether by_ghost() was called since everything was completed.
  bool to_be_judged() const { return to_be_judged_; }
  void judged() { to_be_judged_ = false; }
  /// Everything that went to the ghost is complete, which took `ns`.
  void completed_by_ghost(Target& to, std::uint64_t ns);

  /// Operations that were issued natively are complete at the target when this returns.
  int complete(MPI_Win window, Target& to);
  int complete_all(MPI_Win window);
  /// Ends the native epoch: afterwards the window may be used for a fence, or freed. Waits for
  /// trials, so every target must come into MPI soon.
  int close(MPI_Win window);

 private:
  void open(MPI_Win window);
  void try_natively(MPI_Win window, Target& to);

  bool open_ = false;
  bool to_be_judged_ = false;
  std::vector<Target*> active_;  ///< those with native operations under way
  std::vector<Target*> tried_;   ///< those with a trial under way
};

}  // namespace hob::mpi
