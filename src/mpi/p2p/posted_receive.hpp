// A receive in Hob's PRQ, or a persistent one that may be there, as the request layer sees it.
#pragma once

#include <atomic>

#include "match/depth_meter.hpp"
#include "match/engine.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::p2p {

class PostedReceive final : public Operation {
 public:
  enum class State {
    inactive,
    in_prq,
    at_library,  ///< it has its message, or was posted natively
    complete
  };

  PostedReceive() { kept.wanted = true; }

  bool ready() override;
  int result(MPI_Status* status) override;
  void retire() override;
  void abandon() override;
  void cancel() override;
  bool leaves_start() override;
  int start() override;
  bool is_event_driven() const override { return true; }
  bool persistent() const override { return is_persistent; }
  bool awaited() override;
  bool active() const override { return state.load(std::memory_order_acquire) != State::inactive; }

  /// Binds a new or recycled receive to its channel. The gate is held.
  void bind(Channel& to, const Buffer& into, const Wanted& from);

  /// Keeps the datatype alive while the receive waits. The gate is held.
  void keep_type();

  /// The library has the receive now (`native`); the program's wait will find it complete. The gate
  /// is held.
  void now_at_library();

  /// It was posted natively, and is counted and metered there, if `metered`, under `ticket`. The
  /// gate is held.
  void counts_as_outstanding(bool metered);

  /// A thread does nothing but wait for it.
  bool is_waited_for() const { return is_blocking || is_awaited.load(std::memory_order_relaxed); }

  Channel* channel = nullptr;
  Buffer buffer{};
  Wanted wanted{};
  MPI_Count room = 0;        ///< bytes of the longest message that fits
  bool owns_type = false;    ///< buffer.type is Hob's duplicate
  bool is_blocking = false;  ///< a blocking receive, which takes the message itself
  bool is_persistent = false;
  bool stands_behind = false;  ///< a persistent one: behind its handle
  bool is_sentinel = false;    ///< the same, for those before it
  match::Sampler::Metering metering = match::Sampler::Metering::no;  ///< of its next start
  bool is_abandoned = false;
  std::atomic<bool> is_awaited{false};
  bool counts_outstanding = false;
  bool is_metered = false;  ///< at the library, with `ticket` of the posted meter
  std::atomic<State> state{State::inactive};
  match::Handle place = 0;  ///< in the engine, while in the PRQ
  match::DepthMeter::Ticket ticket = 0;
  MPI_Message message = MPI_MESSAGE_NULL;  ///< of a blocking receive, once matched
  MPI_Request native = MPI_REQUEST_NULL;   ///< once at the library
  MPI_Request persistent_native = MPI_REQUEST_NULL;
  void* discarded = nullptr;  ///< where a message goes that is too long; Hob's own memory
  MPI_Status status{};
  int error = MPI_SUCCESS;
  bool is_unreported = false;  ///< no error handler has been called for `error`
  PostedReceive* next_free = nullptr;

 private:
  int start_receiving();
  int start_at_library();
  bool stand_behind_handle();
  void no_longer_outstanding(bool heard);
};

/// One for use, from those that are free. Null without memory. The gate is held.
PostedReceive* new_receive();

/// Back to those that are free. The gate is held.
void destroy(PostedReceive& receive);

/// The program's error handler hears of an error of a receive. Returns it.
int report_error(const Channel& channel, int error);

}  // namespace hob::mpi::p2p
