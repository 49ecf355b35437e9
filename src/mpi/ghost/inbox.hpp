// What a ghost receives requests with.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "ghost/transport.hpp"
#include "ghost/wire.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/ghost/transport.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/workarounds/receive_from_any.hpp"

namespace hob::mpi {

/// Receives kept posted for requests of any rank, taken in the order in which they were posted, so
/// that messages of one origin are never overtaken.
class Inbox {
 public:
  explicit Inbox(MPI_Comm comm) : comm_(comm) {
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
    check_transport(real::Test(&slot.request, &flag, &status));
    if (!flag) return false;
    int bytes = 0;
    real::Get_count(&status, MPI_BYTE, &bytes);
    take(status.MPI_SOURCE,
         std::span<const std::byte>(slot.buffer.get(), static_cast<std::size_t>(bytes)));
    ++used_;
    next_ = (next_ + 1) % slots_.size();
    return true;
  }
  /// Posts the receives that were used up; later than their messages were answered, since a rank
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
  static constexpr int kTag = static_cast<int>(ghost::kRequestTag);
  struct Slot {
    std::unique_ptr<std::byte[]> buffer = std::make_unique<std::byte[]>(ghost::kMessageBytes);
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(Slot& slot) {
    check_transport(receive_from_any(slot.buffer.get(), static_cast<int>(ghost::kMessageBytes),
                                     kTag, comm_, &slot.request));
  }
  MPI_Comm comm_;
  std::array<Slot, tuning::ghost::kInboxSlots> slots_;
  std::size_t next_ = 0;
  std::size_t used_ = 0;  // not posted again yet: those in front of next_
};

}  // namespace hob::mpi
