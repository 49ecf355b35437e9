// The ghosts' transport: point-to-point messages on the internal communicator.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "ghost/transport.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/ghost/job/peers_watch.hpp"
#include "mpi/ghost/job/world.hpp"
#include "os/sockets.hpp"
#include "pay/backoff.hpp"
#include "pay/yield_predictor.hpp"

namespace hob::mpi {

class GhostTransport final : public ghost::Transport {
 public:
  /// `lock`: held by whoever calls, released while waiting; null: the program has one thread.
  GhostTransport(GhostWorld& world, std::mutex* lock);

  ghost::Handle send(int peer, std::uint32_t tag, const void* data, std::size_t bytes) override;
  ghost::Handle receive(int peer, std::uint32_t tag, void* data, std::size_t bytes) override;
  bool done(ghost::Handle& handle) override;
  void relax(unsigned turn, bool for_message) override;
  std::uint64_t waits(bool begin) override;

 private:
  void check_ghosts();
  /// Until a socket has news. False where there is none.
  bool sleep();

  GhostWorld& world_;
  std::mutex* lock_;
  os::Sockets sockets_{{.first_pause_ns = tuning::ghost::kFirstScanPauseNs,
                        .longest_pause_ns = tuning::ghost::kLongestScanPauseNs}};
  std::optional<os::ProcessMonitor> ghosts_;  ///< of this node
  std::uint64_t watched_ = 0;
  YieldPredictor predictor_;
  /// The next sleep of this wait.
  pay::Backoff<> nap_ns_{
      {.first = tuning::ghost::kFirstTimedSleepNs, .longest = tuning::ghost::kOriginSleepNs}};
  bool heard_ = false;  ///< a socket has ended a sleep of this process's
  bool overtaken_ =
      false;  ///< since the last wait, another process had the core while a message was sent
  bool asked_to_share_ = false;  ///< the user wants the MPI library to give the core away
};

/// Given what each call that carries messages returned. One that failed ends the job: it cannot be
/// mended from inside, and operations would be lost silently.
void check_transport(int result);

}  // namespace hob::mpi
