// Requests of MPI_Rget, as the request layer sees them: one whose get Hob carries out, and a watch
// over those that the program has from the library.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "mpi/pmpi/spin.hpp"
#include "mpi/requests/get_operation.hpp"

namespace hob::mpi {

/// Who knows the gets of a window's requests, by cookies.
class RequestOwner {
 public:
  /// As CompletionObserver::completed() and asked().
  virtual void request_completed(std::uint64_t cookie, bool freed) = 0;
  virtual void request_asked(std::uint64_t cookie) = 0;

  /// Whether the get has arrived, and is where the program wants it; then `error` says how it
  /// ended. Never blocks.
  virtual bool request_arrived(std::uint64_t cookie, int& error) = 0;

  /// The request that Hob asks whether the get has arrived, or null.
  virtual MPI_Request request_of(std::uint64_t cookie) = 0;

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
  void asked(std::uint64_t cookie) override;
  bool is_acquire() const override { return false; }

  /// As RequestOwner::request_arrived(). Epochs, and so all gets, end before the window does.
  bool arrived(std::uint64_t cookie, int& error);

  /// The program waits for the get: completes it, where a wait does.
  void complete(std::uint64_t cookie);

  /// The window is gone.
  void end();

  /// One more who uses the watch, until it leaves.
  void join() { references_.fetch_add(1, std::memory_order_relaxed); }
  void leave() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  Spin lock_;
  RequestOwner* owner_;
  std::atomic<std::int64_t> references_{1};  ///< the window, and requests that are watched
};

/// A request for a get whose bytes another get brings, or two: complete when these have arrived.
/// Deletes itself.
class RequestedGet final : public GetOperation {
 public:
  /// Makes it, and its handle. `cookies`: of the gets; 0: none. Throws std::bad_alloc.
  static RequestedGet& begin(RequestWatch& watch, const std::array<std::uint64_t, 2>& cookies,
                             MPI_Request& request);

  void complete() override;
  bool ready() override;
  void abandon() override { delete this; }

 private:
  RequestedGet(RequestWatch& watch, const std::array<std::uint64_t, 2>& cookies)
      : watch_(watch), cookies_(cookies) {
    watch_.join();
  }
  ~RequestedGet() override { watch_.leave(); }

  RequestWatch& watch_;
  std::array<std::uint64_t, 2> cookies_;  ///< of those that have not arrived
};

}  // namespace hob::mpi
