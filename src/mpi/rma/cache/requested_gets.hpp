// Requests of MPI_Rget: those that were served, and those whose completion the cache hears of.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/spin.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi {

/// A request for a get that was served: complete from the start.
class ServedRequest final : public Operation {
 public:
  bool ready() override { return true; }
  int result(MPI_Status* status) override {
    requests::copy_status(requests::empty_status(), status);
    return MPI_SUCCESS;
  }
  void retire() override { delete this; }
  void abandon() override { delete this; }
  bool is_acquire() const override { return false; }
};

/// Who is told that a request of a window's is complete.
class RequestOwner {
 public:
  virtual void request_completed(std::uint64_t cookie, bool freed) = 0;

 protected:
  ~RequestOwner() = default;
};

/// Hears of one window's requests; outlives the window as long as any of them is watched, and
/// deletes itself. Thread safe.
class RequestWatch final : public CompletionObserver {
 public:
  explicit RequestWatch(RequestOwner& owner) : owner_(&owner) {}

  void watch(MPI_Request request, std::uint64_t cookie);
  void completed(std::uint64_t cookie, bool freed) override;
  bool is_acquire() const override { return false; }

  /// The window is gone.
  void end();

 private:
  void leave() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  Spin lock_;
  RequestOwner* owner_;
  std::atomic<std::int64_t> references_{1};  ///< the window, and requests that are watched
};

}  // namespace hob::mpi
