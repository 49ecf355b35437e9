// The ghosts' transport: point-to-point messages on the internal communicator.
#pragma once

#include <mutex>
#include <optional>

#include "ghost/transport.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/ghost/job/peers_watch.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/progress/sleeper.hpp"
#include "pay/waiter.hpp"

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

  GhostWorld& world_;
  std::mutex* lock_;
  std::optional<Waiter> waiter_;  ///< made by the first wait
  Sleeper sleeper_;
  std::optional<os::ProcessMonitor> ghosts_;  ///< of this node
  std::uint64_t watched_ = 0;
  /// Since the last wait, another process had the core while a message was sent.
  bool overtaken_ = false;
};

/// Given what each call that carries messages returned. One that failed ends the job: it cannot be
/// mended from inside, and operations would be lost silently.
void check_transport(int result);

}  // namespace hob::mpi
