// The program's array of requests, for calls that take one. Private to the request layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

inline MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

/// One of Hob's in the program's array.
struct OwnRequest {
  int place;
  Operation* operation;
};

/// Where a call sorts an array out. Kept from call to call: waiting allocates nothing once there
/// was a call with as many requests.
struct SortingRoom {
  std::vector<OwnRequest> own;
  std::vector<int> idle;
  std::vector<MPI_Request> natives;
  std::vector<Watch> watches;
  std::vector<int> places;
  std::vector<MPI_Status> statuses;
  SortingRoom* next_free = nullptr;

  /// Under the registry's lock. Threads may be in such calls together, and callbacks of the
  /// program's within one.
  static SortingRoom*& free() {
    static constinit SortingRoom* first = nullptr;
    return first;
  }
};

/// One that a call has.
class BorrowedRoom {
 public:
  BorrowedRoom() = default;
  BorrowedRoom(const BorrowedRoom&) = delete;
  BorrowedRoom& operator=(const BorrowedRoom&) = delete;
  ~BorrowedRoom() {
    if (!room_) return;
    room_->own.clear();
    room_->idle.clear();
    room_->natives.clear();
    room_->watches.clear();
    room_->places.clear();
    const std::lock_guard guard(registry().lock);
    room_->next_free = std::exchange(SortingRoom::free(), room_);
  }

  /// Under the registry's lock. Throws std::bad_alloc.
  void take() {
    room_ = SortingRoom::free();
    if (room_)
      SortingRoom::free() = room_->next_free;
    else
      room_ = new SortingRoom;
  }

  SortingRoom* operator->() const { return room_; }

 private:
  SortingRoom* room_ = nullptr;
};

/// The program's array, sorted out: Hob's operations here, the library's requests there.
class MixedRequests {
 public:
  MixedRequests(int count, MPI_Request* requests) : requests_(requests), count_(count) {
    const std::lock_guard guard(registry().lock);
    room_.take();
    for (int i = 0; i < count; ++i) {
      KnownHandle* entry = known(requests[i]);
      if (entry && entry->operation) {
        if (entry->operation->active())
          room_->own.push_back({i, entry->operation});
        else
          room_->idle.push_back(i);
        continue;
      }
      room_->natives.push_back(requests[i]);
      room_->places.push_back(i);
      room_->watches.push_back(take_watch(requests[i], entry));
      if (room_->watches.back().number != 0) watched_ = true;
    }
  }
  ~MixedRequests() {
    if (!watched_ || !many_threads) return;
    for (Watch& watch : room_->watches) put_back(watch, !returned_);
  }
  MixedRequests(const MixedRequests&) = delete;
  MixedRequests& operator=(const MixedRequests&) = delete;

  /// The call has returned, and no error handler of the program's has thrown an exception.
  void returned() { returned_ = true; }

  std::vector<OwnRequest>& own() { return room_->own; }
  bool any_own() const { return !room_->own.empty() || !room_->idle.empty(); }
  bool any_active() const { return !room_->own.empty(); }
  const std::vector<int>& idle() const { return room_->idle; }
  MPI_Request* requests() const { return requests_; }
  int count() const { return count_; }
  /// How many are the library's.
  int natives() const { return static_cast<int>(room_->places.size()); }
  MPI_Request* native() { return room_->natives.data(); }
  int place(int native) const { return room_->places[static_cast<std::size_t>(native)]; }

  /// Room for so many statuses. Throws std::bad_alloc.
  MPI_Status* statuses(std::size_t count) {
    if (room_->statuses.size() < count) room_->statuses.resize(count);
    return room_->statuses.data();
  }

  /// act(OwnRequest) for each of Hob's that is ready, until it says false.
  template <class Act>
  void each_ready(Act act) const {
    for (const OwnRequest& own : room_->own)
      if (own.operation->ready() && !act(own)) return;
  }

  /// The program hears that this one of Hob's is complete.
  int finish(const OwnRequest& own, MPI_Status* status) {
    return requests::finish(&requests_[own.place], *own.operation, status);
  }

  /// The library has completed one of its own: the program's handle follows, observers hear of it.
  void completed(int native) {
    const auto i = static_cast<std::size_t>(native);
    requests_[room_->places[i]] = room_->natives[i];
    notify(native);
  }

  /// The library has completed this one of its own: observers hear of it.
  void notify(int native) const {
    if (watched_) notify_complete(room_->watches[static_cast<std::size_t>(native)]);
  }

  /// The library has ended this one with an error.
  void failed(int native) const {
    if (watched_) notify_complete(room_->watches[static_cast<std::size_t>(native)], true);
  }

  /// Whether the library, given the program's own array, has changed this handle.
  bool replaced(int native) const {
    const auto i = static_cast<std::size_t>(native);
    return watched_ && requests_[room_->places[i]] != room_->watches[i].handle;
  }

  /// All of Hob's are waited for. The last one is likely to be the last to become ready.
  bool awaited() { return room_->own.back().operation->awaited(); }

  /// All are waited for: completes those that a wait completes.
  void complete() const {
    for (const OwnRequest& own : room_->own)
      if (own.operation->completed_by_wait) own.operation->complete();
  }

  /// Hob's that were not ready when last asked: so many at most.
  std::size_t unready() const { return room_->own.size() - next_; }

  /// Where the first of these is in the program's array.
  int unready_place() const { return room_->own[next_].place; }

  bool ready() {
    const std::vector<OwnRequest>& own = room_->own;
    while (next_ < own.size() && own[next_].operation->ready()) ++next_;
    return next_ == own.size();
  }

  /// As ready(), or only the library has to go on.
  bool left_to_library() {
    const std::vector<OwnRequest>& own = room_->own;
    while (next_ < own.size() && own[next_].operation->left_to_library()) ++next_;
    return next_ == own.size();
  }

  /// The library's requests, and after them those that are missing to Hob's operations.
  std::vector<MPI_Request>& with_missing() {
    for (const OwnRequest& own : room_->own)
      if (const MPI_Request missing = own.operation->missing(); missing != MPI_REQUEST_NULL)
        room_->natives.push_back(missing);
    return room_->natives;
  }

 private:
  MPI_Request* requests_;
  int count_;
  BorrowedRoom room_;
  std::size_t next_ = 0;
  bool watched_ = false;
  bool returned_ = false;
};

/// advance(), again and again, while all of Hob's requests are waited for. Where a look asks the
/// kernel, it also holds up the senders that share the machine, and the messages that come
/// meanwhile are cheaper to fetch together: while many are missing, Hob lets some time pass between
/// polls without a result (docs/developers/takeover.md).
class PollPacing {
 public:
  explicit PollPacing(MixedRequests& mix) : mix_(mix), awaited_(mix.awaited()) {}

  void operator()() {
    if (!awaited_ || mix_.unready() < tuning::kManyMissing) return advance();
    const std::uint64_t found = messages_found.load(std::memory_order_relaxed);
    const std::uint64_t before = ticks();
    advance();
    if (messages_found.load(std::memory_order_relaxed) != found) return;
    const std::uint64_t took = ticks() - before;
    // Libraries that look at shared memory ask the kernel, too, but only now and then.
    const bool first = quickest_ == UINT64_MAX;
    quickest_ = std::min(quickest_, took);
    if (first || quickest_ < ticks_in(tuning::kKernelPoll)) return;
    const std::uint64_t until = before + took + ticks_in(tuning::kRestBetweenPolls);
    while (ticks() < until) relax();
  }

 private:
  MixedRequests& mix_;
  bool awaited_;
  std::uint64_t quickest_ = UINT64_MAX;
};

/// The program's whole array goes to the library; observers hear of what it completed. Programs
/// poll arrays (MPI_Testany) and nearly always learn nothing, so with one thread the handles alone
/// are remembered, and what is known of one is looked up when it is complete.
class Remembered {
 public:
  Remembered(int count, const MPI_Request* requests)
      : requests_(requests), last_(registry().watches), count_(count) {
    if (HOB_UNLIKELY(count > kFew)) {
      many_.swap(spare());
      if (many_.size() < static_cast<std::size_t>(count))
        many_.resize(static_cast<std::size_t>(count));
      handles_ = many_.data();
      std::copy_n(requests, count, handles_);
      return;
    }
    for (int i = 0; i < count; ++i) {
      handles_[i] = requests[i];
      asm("" : "+r"(i));  // else GCC makes `rep movs` of it, which takes 15 ns for one handle
    }
  }
  ~Remembered() {
    if (HOB_UNLIKELY(count_ > kFew)) many_.swap(spare());
  }
  Remembered(const Remembered&) = delete;
  Remembered& operator=(const Remembered&) = delete;

  void returned() {}
  int natives() const { return count_; }
  /// The library has completed this one: observers hear of it. Few of an array are watched.
  void notify(int i) const {
    if (!unknown(handles_[i])) notify_complete(handles_[i], last_);
  }
  /// The library has ended this one with an error.
  void failed(int i) const {
    if (!unknown(handles_[i])) notify_complete(handles_[i], last_, true);
  }
  /// Whether the library has changed this handle.
  bool replaced(int i) const { return requests_[i] != handles_[i]; }

 private:
  static constexpr int kFew = 64;
  /// For the next one: allocating room for a thousand handles takes as long as to copy them.
  static std::vector<MPI_Request>& spare() {
    static auto& only = *new std::vector<MPI_Request>;
    return only;
  }
  const MPI_Request* requests_;
  std::uint64_t last_;  ///< the last watch before the call
  int count_;
  MPI_Request few_[kFew];
  std::vector<MPI_Request> many_;
  MPI_Request* handles_ = few_;
};

/// The same with several threads: what is known is taken out of the table (Watch).
class Watched {
 public:
  Watched(int count, const MPI_Request* requests) : requests_(requests), count_(count) {
    if (count > kFew) {
      many_.resize(static_cast<std::size_t>(count));
      watched_ = many_.data();
    }
    const std::lock_guard guard(registry().lock);
    for (int i = 0; i < count; ++i) watched_[i] = take_watch(requests[i], known(requests[i]));
  }
  ~Watched() {
    for (int i = 0; i < count_; ++i) put_back(watched_[i], !returned_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// The call has returned, and no error handler of the program's has thrown an exception.
  void returned() { returned_ = true; }
  int natives() const { return count_; }
  void notify(int i) const { notify_complete(watched_[i]); }
  void failed(int i) const { notify_complete(watched_[i], true); }
  bool replaced(int i) const { return requests_[i] != watched_[i].handle; }

 private:
  static constexpr int kFew = 128;
  const MPI_Request* requests_;
  int count_;
  Watch few_[kFew];
  std::vector<Watch> many_;
  Watch* watched_ = few_;
  bool returned_ = false;
};

}  // namespace hob::mpi::requests
