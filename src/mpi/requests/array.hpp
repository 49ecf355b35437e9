// The program's array of requests, for calls that take one. Private to the request layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
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
struct Own {
  int place;
  Operation* operation;
};

/// The program's array, sorted out: Hob's operations here, the library's requests there.
class Mix {
 public:
  Mix(int count, MPI_Request* requests) : requests_(requests), count_(count) {
    const std::lock_guard guard(registry().lock);
    for (int i = 0; i < count; ++i) {
      Entry* entry = known(requests[i]);
      if (entry && entry->operation) {
        if (own_.empty()) own_.reserve(static_cast<std::size_t>(count - i));
        if (entry->operation->active())
          own_.push_back({i, entry->operation});
        else
          idle_.push_back(i);
        continue;
      }
      if (natives_.empty()) {
        natives_.reserve(static_cast<std::size_t>(count - i));
        places_.reserve(static_cast<std::size_t>(count - i));
        watches_.reserve(static_cast<std::size_t>(count - i));
      }
      natives_.push_back(requests[i]);
      places_.push_back(i);
      watches_.push_back(take_watch(requests[i], entry));
      if (watches_.back().number != 0) watched_ = true;
    }
  }
  ~Mix() {
    if (!watched_ || !many_threads) return;
    for (Watch& watch : watches_) put_back(watch, !returned_);
  }
  Mix(const Mix&) = delete;
  Mix& operator=(const Mix&) = delete;

  /// The call has returned, and no error handler of the program's has thrown an exception.
  void returned() { returned_ = true; }

  std::vector<Own>& own() { return own_; }
  bool any_own() const { return !own_.empty() || !idle_.empty(); }
  bool any_active() const { return !own_.empty(); }
  const std::vector<int>& idle() const { return idle_; }
  MPI_Request* requests() const { return requests_; }
  int count() const { return count_; }
  /// How many are the library's.
  int natives() const { return static_cast<int>(places_.size()); }
  MPI_Request* native() { return natives_.data(); }
  int place(int native) const { return places_[static_cast<std::size_t>(native)]; }

  /// act(Own) for each of Hob's that is ready, until it says false.
  template <class Act>
  void each_ready(Act act) const {
    for (const Own& own : own_)
      if (own.operation->ready() && !act(own)) return;
  }

  /// The program hears that this one of Hob's is complete.
  int finish(const Own& own, MPI_Status* status) {
    return requests::finish(&requests_[own.place], *own.operation, status);
  }

  /// The library has completed one of its own: the program's handle follows, observers hear of it.
  void completed(int native) {
    const auto i = static_cast<std::size_t>(native);
    requests_[places_[i]] = natives_[i];
    tell(native);
  }

  /// The library has completed this one of its own: observers hear of it.
  void tell(int native) const {
    if (watched_) tell_complete(watches_[static_cast<std::size_t>(native)]);
  }

  /// Whether the library, given the program's own array, has changed this handle.
  bool replaced(int native) const {
    const auto i = static_cast<std::size_t>(native);
    return watched_ && requests_[places_[i]] != watches_[i].handle;
  }

  /// All of Hob's are waited for. The last one is likely to be the last to become ready.
  bool awaited() { return own_.back().operation->awaited(); }

  /// Hob's that were not ready when last asked: so many at most.
  std::size_t unready() const { return own_.size() - next_; }

  /// Where the first of these is in the program's array.
  int unready_place() const { return own_[next_].place; }

  bool ready() {
    while (next_ < own_.size() && own_[next_].operation->ready()) ++next_;
    return next_ == own_.size();
  }

  /// As ready(), or only the library has to go on.
  bool left_to_library() {
    while (next_ < own_.size() && own_[next_].operation->left_to_library()) ++next_;
    return next_ == own_.size();
  }

  /// The library's requests, and after them those that are missing to Hob's operations.
  std::vector<MPI_Request>& with_missing() {
    natives_.reserve(natives_.size() + own_.size());
    for (const Own& own : own_)
      if (const MPI_Request missing = own.operation->missing(); missing != MPI_REQUEST_NULL)
        natives_.push_back(missing);
    return natives_;
  }

 private:
  MPI_Request* requests_;
  int count_;
  std::vector<Own> own_;
  std::vector<int> idle_;
  std::vector<MPI_Request> natives_;
  mutable std::vector<Watch> watches_;
  std::vector<int> places_;
  std::size_t next_ = 0;
  bool watched_ = false;
  bool returned_ = false;
};

/// advance(), again and again, while all of Hob's requests are waited for. Where a look asks the
/// kernel, it also holds up the senders that share the machine, and the messages that come
/// meanwhile are cheaper to fetch together: while many are missing, Hob lets some time pass between
/// looks in vain (docs/developers/takeover.md).
class Looks {
 public:
  explicit Looks(Mix& mix) : mix_(mix), told_(mix.awaited()) {}

  void operator()() {
    if (!told_ || mix_.unready() < tuning::kManyMissing) return advance();
    const std::uint64_t found = messages_found.load(std::memory_order_relaxed);
    const std::uint64_t before = ticks();
    advance();
    if (messages_found.load(std::memory_order_relaxed) != found) return;
    const std::uint64_t took = ticks() - before;
    // Libraries that look at shared memory ask the kernel, too, but only now and then.
    const bool first = quickest_ == UINT64_MAX;
    quickest_ = std::min(quickest_, took);
    if (first || static_cast<double>(quickest_) < tuning::kKernelLook * ticks_per_nanosecond())
      return;
    const auto rest =
        static_cast<std::uint64_t>(tuning::kRestBetweenLooks * ticks_per_nanosecond());
    const std::uint64_t until = before + took + rest;
    while (ticks() < until) relax();
  }

 private:
  Mix& mix_;
  bool told_;
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
  void tell(int i) const {
    if (!unknown(handles_[i])) tell_complete(handles_[i], last_);
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
  void tell(int i) const { tell_complete(watched_[i]); }
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
