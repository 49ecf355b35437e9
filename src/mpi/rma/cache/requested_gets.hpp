// Gets with requests: what stands behind the program's request, and when it is complete.
#pragma once

#include <cstdint>

#include "gets/progress_pace.hpp"
#include "gets/request_book.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/rma/cache/get_issuer.hpp"
#include "mpi/rma/cache/request_watch.hpp"

namespace hob::mpi {

/// The request that a get makes.
struct MadeRequest {
  MPI_Request* request;
  std::uint64_t watch = 0;  ///< the cookie of a request of the library's to watch; 0: none
  bool served = false;      ///< nothing was issued, and nothing is waited for
};

/// Of one window. Thread safe where it says so. No function throws, but for begin().
class RequestedGets final : private RequestOwner {
 public:
  /// Whose gets they are. It holds the lock while it is called.
  class Owner {
   public:
    /// A get has arrived; `awaited`: and the program waited for it.
    virtual void get_arrived(PendingGet& pending, TargetState& t, bool awaited) = 0;
    /// A get has failed.
    virtual void get_failed() = 0;

   protected:
    ~Owner() = default;
  };

  /// What belongs to the window. All of it outlives the object.
  struct Parts {
    Owner& owner;
    ExclusiveSpin& lock;
    gets::HotLookup& hot;
    GetIssuer& issuer;
    Backend& backend;
    cache::Cache& cache;
    TargetTable& targets;
    GetsUnderWay& under_way;
    gets::Learning& learning;
    gets::KeptCopies& kept;
    gets::ProgressPace& progress;
    GetStats& stats;
  };

  explicit RequestedGets(const Parts& parts)
      : parts_(parts), book_(parts.under_way), watch_(new RequestWatch(*this)) {}
  ~RequestedGets() { watch_->end(); }
  RequestedGets(const RequestedGets&) = delete;
  RequestedGets& operator=(const RequestedGets&) = delete;

  /// Gives a get to the library, or to a ghost: plan `refetch`, `exact` or `unkept`.
  int issue(const LookedUp& asked, Plan plan, MadeRequest& made);

  /// The request of a get whose bytes the gets under way with these indices bring; kNone: no get,
  /// so that it is complete. False if there is no memory for it.
  bool make(MPI_Request& request, std::uint32_t first = PendingGet::kNone,
            std::uint32_t second = PendingGet::kNone);
  /// The same for one get. It may be withdrawn. Throws std::bad_alloc.
  RequestedGet& begin(std::uint32_t index, MPI_Request& request);

  /// From now on, the completion of a request of the library's is seen. Without the lock: the
  /// request layer may call back at once.
  void watch(const MadeRequest& made) { watch_->watch(*made.request, made.watch); }

  /// Waits for a get that has a request which Hob itself asks. False, and remembered for those who
  /// wait for the same get, if it failed.
  bool wait_for(PendingGet& pending);

 private:
  std::uint64_t cookie_of(std::uint32_t index) const {
    return index == PendingGet::kNone ? 0 : book_.cookie_of(index);
  }
  std::uint64_t time_again(const Get& get, std::uint64_t first);
  void take_up(const LookedUp& asked, PendingGet issued, MadeRequest& made);

  // Of requests that are watched or asked. Thread safe.
  void request_completed(std::uint64_t cookie, bool freed) override;
  void request_asked(std::uint64_t cookie) override;
  bool request_arrived(std::uint64_t cookie, int& error) override;
  MPI_Request request_of(std::uint64_t cookie) override;

  Parts parts_;
  gets::RequestBook book_;
  RequestWatch* watch_;  ///< deletes itself
};

}  // namespace hob::mpi
