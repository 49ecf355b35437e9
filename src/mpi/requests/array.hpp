// The program's array of requests in one call: what of it is Hob's, what is the library's, and
// which places of it the answers belong to. Private to the request layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/kept_array.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

inline MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

/// Each request is looked up once, when the call begins, and only where one of Hob's may be among
/// them. Where none may be, the library serves the whole array, and Hob remembers its handles:
/// programs poll arrays (MPI_Testany) and nearly always learn nothing.
class RequestArray {
 public:
  /// `repeated`: the call is made as often as there are requests (kept_array.hpp).
  /// Throws std::bad_alloc.
  RequestArray(int count, MPI_Request* requests, bool repeated);
  ~RequestArray();
  RequestArray(const RequestArray&) = delete;
  RequestArray& operator=(const RequestArray&) = delete;

  /// The call has returned, and no error handler of the program's has thrown an exception.
  void returned() { returned_ = true; }

  // By places of the program's array.

  MPI_Request* requests() const { return requests_; }
  int count() const { return count_; }

  /// The library has completed the request of this place: its observer hears of it.
  void notify(int place) { notify(place, seen(place), false); }

  /// After an error of the library's, which was given the program's own array. What it has
  /// completed before is not the program's to read: only the handles show it, which are replaced.
  void notify_failed();

  // The library's requests, numbered.

  int natives() const { return static_cast<int>(content_->places.size()); }
  MPI_Request* native_requests() { return content_->natives.data(); }
  int place(int native) const { return content_->places[static_cast<std::size_t>(native)]; }

  /// The library has completed this one: the program's handle follows, its observer hears of it.
  void completed(int native);

  /// The library's requests, and after them those that are missing to Hob's operations.
  std::vector<MPI_Request>& with_missing();

  /// Room for so many statuses. Throws std::bad_alloc.
  MPI_Status* statuses(std::size_t count) {
    if (content_->statuses.size() < count) content_->statuses.resize(count);
    return content_->statuses.data();
  }

  // Operations of Hob's.

  /// Whether the library may serve the whole array.
  bool all_in_library() const { return !looked_up_ || (!any_own() && !blocking_needs_care()); }

  bool any_own() const { return content_->active + content_->idle != 0; }
  bool any_active() const { return content_->active != 0; }

  /// act(OwnRequest) for each that is ready, until it says false.
  template <class Act>
  void each_ready(Act act) {
    if (kept_) return kept_->each_ready(act);
    for (const OwnRequest& each : own())
      if (each.operation->ready() && !act(each)) return;
  }

  /// The program hears that this one is complete.
  int finish(const OwnRequest& own, MPI_Status* status) {
    if (kept_ && !own.operation->persistent()) kept_->vacate(static_cast<std::size_t>(own.place));
    return requests::finish(&requests_[own.place], *own.operation, status);
  }

  // The same in calls that are not `repeated`.

  /// Those that are active, and places of the others.
  const std::vector<OwnRequest>& own() const { return content_->own; }
  const std::vector<int>& idle() const { return content_->idle_places; }

  /// All are waited for. The last one is likely to be the last to become ready.
  bool awaited() { return own().back().operation->awaited(); }

  /// All are waited for: completes those that a wait completes.
  void complete() const {
    for (const OwnRequest& each : own())
      if (each.operation->completed_by_wait) each.operation->complete();
  }

  /// So many were not ready when last asked, at most, and where the first of these is.
  std::size_t unready() const { return own().size() - next_; }
  int unready_place() const { return own()[next_].place; }

  bool ready() {
    while (unready() != 0 && own()[next_].operation->ready()) ++next_;
    return unready() == 0;
  }

  /// As ready(), or only the library has to go on.
  bool left_to_library() {
    while (unready() != 0 && own()[next_].operation->left_to_library()) ++next_;
    return unready() == 0;
  }

 private:
  struct GiveBack {
    void operator()(ArrayContent* content) const;
  };

  void take_watches();
  void sort_out();
  /// `failed`: it has ended with an error. Few are watched.
  void notify(int place, MPI_Request before, bool failed) {
    if (HOB_UNLIKELY(!content_->watches.empty()))
      notify_complete(content_->watches[static_cast<std::size_t>(place)], failed);
    else if (!unknown(before))
      notify_complete(before, last_watch_, failed);
  }
  MPI_Request& seen(int place) { return content_->seen[static_cast<std::size_t>(place)]; }

  MPI_Request* requests_;
  int count_;
  KeptArray* kept_ = nullptr;  ///< is this array, or null
  std::unique_ptr<ArrayContent, GiveBack> borrowed_;
  ArrayContent* content_ = nullptr;  ///< the kept one's, or that
  std::uint64_t last_watch_ = 0;     ///< before the call
  std::size_t next_ = 0;
  bool looked_up_;  ///< one of Hob's may be in it, or must advance
  bool returned_ = false;
};

}  // namespace hob::mpi::requests
