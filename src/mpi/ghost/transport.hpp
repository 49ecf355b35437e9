// The ghosts' wire: point-to-point messages on Hob's own communicator.
#pragma once

#include <atomic>
#include <mutex>

#include "ghost/transport.hpp"
#include "ghost/waiting.hpp"
#include "mpi/ghost/sockets.hpp"
#include "mpi/ghost/world.hpp"

namespace hob::mpi {

class GhostTransport final : public ghost::Transport {
 public:
  /// `lock`: held by whoever calls, released while waiting; null: the program has one thread.
  GhostTransport(GhostWorld& world, std::mutex* lock) : world_(world), lock_(lock) {}

  ghost::Handle send(int peer, std::uint32_t tag, const void* data, std::size_t bytes) override;
  ghost::Handle receive(int peer, std::uint32_t tag, void* data, std::size_t bytes) override;
  bool done(ghost::Handle& handle) override;
  void relax(unsigned turn, bool for_message) override;
  std::uint64_t waits(bool begin) override;

 private:
  GhostWorld& world_;
  std::mutex* lock_;
  Sockets sockets_;
  ghost::Courtesy courtesy_{64};  ///< one turn an operation or so: a thousand would take long
  bool overtaken_ =
      false;  ///< since the last wait, somebody else had the core while a message was sent
  bool asked_to_share_ = false;  ///< the user wants the MPI library to give the core away
};

/// Of a steady clock.
std::uint64_t clock_ns();

/// Gives the core to others for once, at this moment. Returns when it came back.
std::uint64_t give_core_away(ghost::Courtesy& courtesy, std::uint64_t now);

}  // namespace hob::mpi
