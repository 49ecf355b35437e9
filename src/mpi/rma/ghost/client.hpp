// This process as a client of ghosts: what all its ghost windows share.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "ghost/origin.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/ghost/transport.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/ghost/post_start.hpp"
#include "mpi/rma/ghost/state.hpp"
#include "mpi/rma/ghost/window_members.hpp"

namespace hob::mpi {

/// What this process has done natively in all its ghost windows, for the report.
struct NativeCounts {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t trials = 0;
  std::uint64_t trials_won = 0;
};

class GhostOperation;

/// Used by whoever holds it (GhostHold). Waits release it: the state known before one may
/// have changed after it.
struct GhostClient {
  GhostClient(GhostWorld& its_world, bool threads);
  ~GhostClient();
  GhostClient(const GhostClient&) = delete;
  GhostClient& operator=(const GhostClient&) = delete;

  GhostWorld& world;
  bool many_threads;
  std::mutex lock;
  GhostTransport transport;
  PostStartMessages messages;
  ghost::Origin origin;
  std::vector<ghost::GhostNode> nodes;
  std::uint64_t operations = 0;  ///< with requests, that have not ended yet
  GhostOperation* free_operations = nullptr;
  std::vector<GhostOperation*> abandoned;  ///< of these, under way though their handle is gone
  std::vector<MPI_Win> open_windows;
  MemberGroups groups;
  std::uint64_t windows = 0;
  std::uint64_t windows_declined = 0;
  std::uint64_t windows_led = 0;  ///< of which this process is the first member, declined ones too
  NativeCounts natively;
  struct {
    std::uint64_t calls = 0;
    std::uint64_t completions = 0;       ///< that completed this process's operations
    std::uint64_t synchronisations = 0;  ///< that waited for the other processes
  } fences;

  /// Waits for post and complete messages. Conditions as in Endpoints::wait_until.
  template <class Done>
  void wait_for_messages(Done done) {
    messages.receive();
    if (done()) return;
    transport.waits(true);
    for (unsigned turn = 0; !done(); ++turn) {
      origin.progress();
      transport.relax(turn, false);
      messages.receive();
    }
    transport.waits(false);
  }

  /// The operation behind a new request. `acquire`: its results may depend on others' writes.
  GhostOperation& begin_operation(bool acquire);
  /// Takes in what has arrived, and ends operations that the program will not ask for any more.
  void progress();
};

/// Holds the client where the program has several threads. Not to be nested.
class GhostHold {
 public:
  GhostHold() {
    if (ghost_client->many_threads) ghost_client->lock.lock();
    inside_ghost_client = true;
  }
  ~GhostHold() {
    inside_ghost_client = false;
    if (ghost_client->many_threads) ghost_client->lock.unlock();
  }
  GhostHold(const GhostHold&) = delete;
  GhostHold& operator=(const GhostHold&) = delete;
};

/// An operation with a request. One that has ended is used again. The request layer's calls hold
/// the client.
class GhostOperation final : public Operation {
 public:
  /// Whose error handler hears of a failure, as long as the program has not freed it.
  MPI_Win window = MPI_WIN_NULL;

  ghost::Completion completion;

  bool ready() override;
  int result(MPI_Status* status) override;
  void retire() override;
  void abandon() override;
  bool is_acquire() const override { return is_acquire_; }

 private:
  friend struct GhostClient;
  void forget();
  bool is_acquire_ = true;
  bool notified_ = false;  ///< the error handler
  GhostOperation* next_free_ = nullptr;
};

/// Adds what this process did as one to the report. Before MPI starts.
void register_ghost_report();

/// Application ranks, after divide_world: makes the client. Many threads: the program has them.
void start_ghost_client(bool many_threads);

/// From now on, the program has them. Nothing without ghosts.
void ghosts_expect_threads();

}  // namespace hob::mpi
