// Every wait and test function, with requests of Hob's and of the library's mixed.
#include "mpi/pmpi/hooks.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/table.hpp"

namespace hob::mpi {
namespace requests {
namespace {

/// Nothing of Hob's is behind these requests, and nothing needs care while the library waits.
bool only_native(int count, const MPI_Request* handles) {
  return !blocking_needs_care() && all_unknown(count, handles);
}
bool only_native(MPI_Request handle) { return !blocking_needs_care() && unknown(handle); }

/// The library's own request: waits, and lets Hob's things advance where the library does not.
int native_wait(MPI_Request* request, MPI_Status* status) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Wait(request, status);
  }
  Pause pause;
  for (;;) {
    int flag = 0;
    const int error = real::Test(request, &flag, status);
    if (flag || error != MPI_SUCCESS) return error;
    advance();
    pause();
  }
}

int native_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Waitall(count, requests, statuses);
  }
  Pause pause;
  for (;;) {
    int flag = 0;
    const int error = real::Testall(count, requests, &flag, statuses);
    if (flag || error != MPI_SUCCESS) return error;
    advance();
    pause();
  }
}

/// The program has heard that one of Hob's operations is complete.
[[gnu::always_inline]] inline void end(MPI_Request* request, Operation& operation) {
  if (!operation.persistent()) {
    forget(*request, operation);
    *request = MPI_REQUEST_NULL;
  }
  operation.retire();
}

/// The program hears that one of Hob's operations is complete.
int finish(MPI_Request* request, Operation& operation, MPI_Status* status) {
  int error = MPI_SUCCESS;
  if (status == MPI_STATUS_IGNORE) {
    MPI_Status unused;
    error = operation.result(&unused);
  } else {
    error = operation.result(status);
  }
  end(request, operation);
  return error;
}

/// Waits until one of Hob's operations is complete. `nearly`: or only the library has to go on.
void wait_for(Operation& operation, bool nearly) {
  Pause pause;
  const auto done = [&] { return nearly ? operation.left_to_library() : operation.ready(); };
  if (done()) return;
  operation.awaited();
  while (!done()) {
    advance();
    pause();
  }
}

MPI_Status* at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

/// The program's array, sorted out: Hob's operations here, the library's requests there.
class Mix {
 public:
  Mix(int count, MPI_Request* requests) : requests_(requests) {
    const std::lock_guard guard(the_registry.lock);
    for (int i = 0; i < count; ++i) {
      const Entry* entry = known(requests[i]);
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
      watches_.push_back(entry ? entry->watch : 0);
      if (watches_.back() != 0) watched_ = true;
    }
    if (watched_) before_ = natives_;
  }

  struct Own {
    int place;
    Operation* operation;
  };
  std::vector<Own>& own() { return own_; }
  bool any_own() const { return !own_.empty() || !idle_.empty(); }
  const std::vector<int>& idle() const { return idle_; }
  int natives() const { return static_cast<int>(places_.size()); }
  MPI_Request* native() { return natives_.data(); }
  int place(int native) const { return places_[static_cast<std::size_t>(native)]; }

  /// The library has completed one of its own: the program's handle follows, observers hear of it.
  void completed(int native) {
    const auto i = static_cast<std::size_t>(native);
    requests_[places_[i]] = natives_[i];
    heard(native);
  }

  /// The library was given the program's own array and has completed this one.
  void heard(int native) const {
    const auto i = static_cast<std::size_t>(native);
    if (watched_) tell_complete(before_[i], watches_[i]);
  }
  void heard_all() const {
    for (int i = 0; i < natives(); ++i) heard(i);
  }

  /// All of Hob's are waited for. The last one is likely to be the last to become ready.
  bool awaited() { return own_.back().operation->awaited(); }

  /// Hob's that were not ready when last asked: so many at most.
  std::size_t unready() const { return own_.size() - next_; }

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
  std::vector<Own> own_;
  std::vector<int> idle_;
  std::vector<MPI_Request> natives_, before_;
  std::vector<std::uint64_t> watches_;
  std::vector<int> places_;
  std::size_t next_ = 0;
  bool watched_ = false;
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

/// Nothing of Hob's is behind any request; some of the library's may be watched.
bool only_watched() {
  return operations.load(std::memory_order_relaxed) == 0 && !blocking_needs_care();
}

/// The program's whole array goes to the library; observers hear of what it completed.
class Watched {
 public:
  Watched(int count, const MPI_Request* requests) : count_(count) {
    if (count > kFew) {
      many_.resize(static_cast<std::size_t>(count));
      watched_ = many_.data();
    }
    for (int i = 0; i < count; ++i)
      watched_[i] = {requests[i], requests[i] == MPI_REQUEST_NULL ? 0 : look_up(requests[i]).watch};
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  void completed(int i) const { tell_complete(watched_[i].handle, watched_[i].watch); }
  /// After an error some may be under way still: their handles are as they were.
  void completed_all(const MPI_Request* requests, int error) const {
    for (int i = 0; i < count_; ++i)
      if (error == MPI_SUCCESS || requests[i] != watched_[i].handle) completed(i);
  }
  void completed_some(int number, const int* which) const {
    if (number == MPI_UNDEFINED) return;
    for (int i = 0; i < number; ++i) completed(which[i]);
  }

 private:
  struct One {
    MPI_Request handle;
    std::uint64_t watch;
  };
  static constexpr int kFew = 128;
  int count_;
  One few_[kFew];
  std::vector<One> many_;
  One* watched_ = few_;
};

/// Ends waitall and testall once everything is complete. `native_error`: of the library's part,
/// whose statuses are in `native_statuses`; in waitall, with_missing() belongs to it.
int finish_all(Mix& mix, MPI_Request* requests, MPI_Status* statuses, int native_error,
               const MPI_Status* native_statuses) {
  const bool wanted = statuses != MPI_STATUSES_IGNORE;
  bool failed = native_error == MPI_ERR_IN_STATUS;
  for (int i = 0; i < mix.natives(); ++i) {
    mix.completed(i);
    if (wanted) {
      copy_status(native_statuses[i], &statuses[mix.place(i)]);
      if (failed) statuses[mix.place(i)].MPI_ERROR = native_statuses[i].MPI_ERROR;
    }
  }
  for (const int i : mix.idle()) copy_status(empty_status(), at(statuses, i));
  auto missing = static_cast<std::size_t>(mix.natives());
  std::vector<std::pair<int, int>> errors;  // of Hob's: place, code
  for (const Mix::Own& own : mix.own()) {
    MPI_Request* request = &requests[own.place];
    int error = MPI_SUCCESS;
    if (own.operation->missing() == MPI_REQUEST_NULL) {
      error = finish(request, *own.operation, at(statuses, own.place));
    } else if (const std::size_t at_library = missing++;
               HOB_LIKELY(mix.native()[at_library] == MPI_REQUEST_NULL)) {
      const MPI_Status& status = native_statuses[at_library];
      if (native_error == MPI_ERR_IN_STATUS) error = status.MPI_ERROR;
      copy_status(status, at(statuses, own.place));
      end(request, *own.operation);
    } else {  // another one's error came first
      wait_for(*own.operation, false);
      error = finish(request, *own.operation, at(statuses, own.place));
    }
    if (HOB_UNLIKELY(error != MPI_SUCCESS)) errors.emplace_back(own.place, error);
  }
  if (!failed && errors.empty()) return native_error;
  if (wanted) {
    if (native_error == MPI_SUCCESS)
      for (int i = 0; i < mix.natives(); ++i) statuses[mix.place(i)].MPI_ERROR = MPI_SUCCESS;
    for (const int i : mix.idle()) statuses[i].MPI_ERROR = MPI_SUCCESS;
    for (const Mix::Own& own : mix.own()) statuses[own.place].MPI_ERROR = MPI_SUCCESS;
    for (const auto& [place, error] : errors) statuses[place].MPI_ERROR = error;
  }
  return MPI_ERR_IN_STATUS;
}

/// One look for waitany and testany. Returns true if the call is to return now.
bool look_any(Mix& mix, MPI_Request* requests, int* index, MPI_Status* status, int* error) {
  for (const Mix::Own& own : mix.own()) {
    if (!own.operation->ready()) continue;
    *index = own.place;
    *error = finish(&requests[own.place], *own.operation, status);
    return true;
  }
  int native = MPI_UNDEFINED, flag = 0;
  if (mix.natives() != 0) {
    *error = real::Testany(mix.natives(), mix.native(), &native, &flag, status);
    if (native != MPI_UNDEFINED && (flag || *error != MPI_SUCCESS)) {
      *index = mix.place(native);
      mix.completed(native);
      return true;
    }
    if (*error != MPI_SUCCESS) return true;
  }
  if (!mix.own().empty() || (mix.natives() != 0 && !flag)) return false;
  *index = MPI_UNDEFINED;
  *error = MPI_SUCCESS;
  copy_status(empty_status(), status);
  return true;
}

/// One look for waitsome and testsome. Returns true if waitsome is to return now.
bool look_some(Mix& mix, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses,
               int* error) {
  int found = 0;
  std::vector<int> errors;
  bool failed = false;
  for (const Mix::Own& own : mix.own()) {
    if (!own.operation->ready()) continue;
    indices[found] = own.place;
    errors.push_back(finish(&requests[own.place], *own.operation, at(statuses, found)));
    failed |= errors.back() != MPI_SUCCESS;
    ++found;
  }
  int natives = MPI_UNDEFINED;
  *error = MPI_SUCCESS;
  if (mix.natives() != 0)
    *error =
        real::Testsome(mix.natives(), mix.native(), &natives, indices + found, at(statuses, found));
  const bool natives_failed = *error == MPI_ERR_IN_STATUS;
  if (natives != MPI_UNDEFINED) {
    for (int i = 0; i < natives; ++i) {
      mix.completed(indices[found + i]);
      indices[found + i] = mix.place(indices[found + i]);
      if (failed && !natives_failed && statuses != MPI_STATUSES_IGNORE)
        statuses[found + i].MPI_ERROR = MPI_SUCCESS;
    }
  }
  if ((failed || natives_failed) && statuses != MPI_STATUSES_IGNORE)
    for (int i = 0; i < found; ++i) statuses[i].MPI_ERROR = errors[static_cast<std::size_t>(i)];
  if (failed) *error = MPI_ERR_IN_STATUS;
  *outcount = found + (natives == MPI_UNDEFINED ? 0 : natives);
  if (*outcount == 0 && mix.own().empty() && natives == MPI_UNDEFINED) {
    *outcount = MPI_UNDEFINED;
    return true;
  }
  return *outcount != 0 || *error != MPI_SUCCESS;
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const Entry entry = look_up(request);
  if (!entry.operation) {
    if (blocking_needs_care()) advance();
    const int error = real::Request_get_status(request, flag, status);
    // The request stays; its observer has heard.
    if (*flag) tell_complete(request, entry.watch);
    return error;
  }
  if (!entry.operation->active()) {
    *flag = 1;
    copy_status(empty_status(), status);
    return MPI_SUCCESS;
  }
  if (!entry.operation->ready()) advance();
  *flag = entry.operation->ready();
  if (!*flag) return MPI_SUCCESS;
  MPI_Status unused;
  return entry.operation->result(status == MPI_STATUS_IGNORE ? &unused : status);
}

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) {
  const Entry entry = look_up(*request);
  if (!entry.operation) {
    const MPI_Request before = *request;
    const int error = native_wait(request, status);
    tell_complete(before, entry.watch);
    return error;
  }
  if (!entry.operation->active()) {
    copy_status(empty_status(), status);
    return MPI_SUCCESS;
  }
  wait_for(*entry.operation, true);
  if (MPI_Request missing = entry.operation->missing(); missing != MPI_REQUEST_NULL) {
    const int error = native_wait(&missing, status);
    if (HOB_LIKELY(missing == MPI_REQUEST_NULL)) {
      end(request, *entry.operation);
      return error;
    }
    wait_for(*entry.operation, false);
  }
  return finish(request, *entry.operation, status);
}

}  // namespace requests

using namespace requests;

int on_Wait(MPI_Request* request, MPI_Status* status) {
  if (HOB_LIKELY(only_native(*request))) {
    const Blocking blocking;
    return real::Wait(request, status);
  }
  return requests::wait(request, status);
}

int on_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (HOB_LIKELY(only_native(*request))) return real::Test(request, flag, status);
  const Entry entry = look_up(*request);
  if (!entry.operation) {
    if (blocking_needs_care()) advance();
    const MPI_Request before = *request;
    const int error = real::Test(request, flag, status);
    if (*flag || error != MPI_SUCCESS) tell_complete(before, entry.watch);
    return error;
  }
  if (!entry.operation->active()) {
    *flag = 1;
    copy_status(empty_status(), status);
    return MPI_SUCCESS;
  }
  if (!entry.operation->ready()) advance();
  *flag = entry.operation->ready();
  return *flag ? finish(request, *entry.operation, status) : MPI_SUCCESS;
}

int on_Waitall(int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses) {
  if (HOB_LIKELY(only_native(count, array_of_requests)) || count <= 0) {
    const Blocking blocking;
    return real::Waitall(count, array_of_requests, array_of_statuses);
  }
  if (HOB_LIKELY(only_watched())) {
    const Watched watched(count, array_of_requests);
    const Blocking blocking;
    const int error = real::Waitall(count, array_of_requests, array_of_statuses);
    watched.completed_all(array_of_requests, error);
    return error;
  }
  Mix mix(count, array_of_requests);
  if (!mix.any_own()) {
    const int error = native_waitall(count, array_of_requests, array_of_statuses);
    mix.heard_all();
    return error;
  }
  if (!mix.left_to_library()) {
    Pause pause;
    Looks looks(mix);
    while (!mix.left_to_library()) {
      looks();
      pause();
    }
  }
  std::vector<MPI_Request>& natives = mix.with_missing();
  const std::unique_ptr<MPI_Status[]> statuses(new MPI_Status[natives.size()]);
  const int error = natives.empty() ? MPI_SUCCESS
                                    : native_waitall(static_cast<int>(natives.size()),
                                                     natives.data(), statuses.get());
  return finish_all(mix, array_of_requests, array_of_statuses, error, statuses.get());
}

int on_Testall(int count, MPI_Request array_of_requests[], int* flag,
               MPI_Status* array_of_statuses) {
  if (HOB_LIKELY(only_native(count, array_of_requests)) || count <= 0)
    return real::Testall(count, array_of_requests, flag, array_of_statuses);
  if (HOB_LIKELY(only_watched())) {
    const Watched watched(count, array_of_requests);
    const int error = real::Testall(count, array_of_requests, flag, array_of_statuses);
    if (*flag || error != MPI_SUCCESS) watched.completed_all(array_of_requests, error);
    return error;
  }
  Mix mix(count, array_of_requests);
  if (!mix.any_own()) {
    if (blocking_needs_care()) advance();
    const int error = real::Testall(count, array_of_requests, flag, array_of_statuses);
    if (*flag || error != MPI_SUCCESS) mix.heard_all();
    return error;
  }
  *flag = 0;
  if (!mix.ready()) {
    advance();
    if (!mix.ready()) return MPI_SUCCESS;
  }
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(mix.natives()));
  int error = MPI_SUCCESS;
  *flag = 1;
  if (mix.natives()) error = real::Testall(mix.natives(), mix.native(), flag, statuses.data());
  if (!*flag && error == MPI_SUCCESS) return MPI_SUCCESS;
  return finish_all(mix, array_of_requests, array_of_statuses, error, statuses.data());
}

int on_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
  if (HOB_LIKELY(only_native(count, array_of_requests)) || count <= 0) {
    const Blocking blocking;
    return real::Waitany(count, array_of_requests, index, status);
  }
  if (HOB_LIKELY(only_watched())) {
    const Watched watched(count, array_of_requests);
    const Blocking blocking;
    const int error = real::Waitany(count, array_of_requests, index, status);
    if (*index != MPI_UNDEFINED) watched.completed(*index);
    return error;
  }
  Mix mix(count, array_of_requests);
  if (!mix.any_own() && !blocking_needs_care()) {
    const Blocking blocking;
    const int error = real::Waitany(count, array_of_requests, index, status);
    if (*index != MPI_UNDEFINED) mix.heard(*index);
    return error;
  }
  Pause pause;
  int error = MPI_SUCCESS;
  while (!look_any(mix, array_of_requests, index, status, &error)) {
    advance();
    pause();
  }
  return error;
}

int on_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
               MPI_Status* status) {
  if (HOB_LIKELY(only_native(count, array_of_requests)) || count <= 0)
    return real::Testany(count, array_of_requests, index, flag, status);
  if (HOB_LIKELY(only_watched())) {
    const Watched watched(count, array_of_requests);
    const int error = real::Testany(count, array_of_requests, index, flag, status);
    if (*flag && *index != MPI_UNDEFINED) watched.completed(*index);
    return error;
  }
  advance();
  Mix mix(count, array_of_requests);
  int error = MPI_SUCCESS;
  *index = MPI_UNDEFINED;
  *flag = look_any(mix, array_of_requests, index, status, &error);
  return error;
}

int on_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                MPI_Status* array_of_statuses) {
  if (HOB_LIKELY(only_native(incount, array_of_requests)) || incount <= 0) {
    const Blocking blocking;
    return real::Waitsome(incount, array_of_requests, outcount, array_of_indices,
                          array_of_statuses);
  }
  if (HOB_LIKELY(only_watched())) {
    const Watched watched(incount, array_of_requests);
    const Blocking blocking;
    const int error =
        real::Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    watched.completed_some(*outcount, array_of_indices);
    return error;
  }
  Mix mix(incount, array_of_requests);
  if (!mix.any_own() && !blocking_needs_care()) {
    const Blocking blocking;
    const int error =
        real::Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    if (*outcount != MPI_UNDEFINED)
      for (int i = 0; i < *outcount; ++i) mix.heard(array_of_indices[i]);
    return error;
  }
  Pause pause;
  int error = MPI_SUCCESS;
  while (
      !look_some(mix, array_of_requests, outcount, array_of_indices, array_of_statuses, &error)) {
    advance();
    pause();
  }
  return error;
}

int on_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                MPI_Status* array_of_statuses) {
  if (HOB_LIKELY(only_native(incount, array_of_requests)) || incount <= 0)
    return real::Testsome(incount, array_of_requests, outcount, array_of_indices,
                          array_of_statuses);
  if (HOB_LIKELY(only_watched())) {
    const Watched watched(incount, array_of_requests);
    const int error =
        real::Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    watched.completed_some(*outcount, array_of_indices);
    return error;
  }
  advance();
  Mix mix(incount, array_of_requests);
  int error = MPI_SUCCESS;
  look_some(mix, array_of_requests, outcount, array_of_indices, array_of_statuses, &error);
  return error;
}

int on_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (HOB_LIKELY(only_native(request))) return real::Request_get_status(request, flag, status);
  return get_status(request, flag, status);
}

int on_Request_free(MPI_Request* request) {
  if (HOB_LIKELY(only_native(*request))) return real::Request_free(request);
  const Entry entry = take(*request);
  if (!entry.operation) {
    const int error = real::Request_free(request);
    if (entry.observer) entry.observer->completed(entry.cookie, true);
    return error;
  }
  entry.operation->abandon();
  if (!entry.pooled) return real::Request_free(request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int on_Cancel(MPI_Request* request) {
  Operation* operation = requests::find(*request);
  if (!operation) return real::Cancel(request);
  operation->cancel();
  return MPI_SUCCESS;
}

int on_Start(MPI_Request* request) {
  Operation* operation = requests::find(*request);
  return operation && operation->persistent() ? operation->start() : real::Start(request);
}

int on_Startall(int count, MPI_Request array_of_requests[]) {
  if (HOB_LIKELY(all_unknown(count, array_of_requests)) || count <= 0)
    return real::Startall(count, array_of_requests);
  for (int i = 0; i < count; ++i)
    if (const int error = on_Start(&array_of_requests[i]); error != MPI_SUCCESS) return error;
  return MPI_SUCCESS;
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

namespace {

/// Asks one of Hob's operations that is ready.
int ask(Operation& operation, MPI_Status* status) {
  MPI_Status unused;
  return operation.result(status == MPI_STATUS_IGNORE ? &unused : status);
}

/// The library's answer with those of Hob's, each of which has its error in its status, if any has
/// one. `native_error`: of the library's part.
int in_statuses(int native_error, bool failed, const std::vector<int>& errors,
                MPI_Status* statuses) {
  if (!failed) return native_error;
  if (statuses != MPI_STATUSES_IGNORE)
    for (std::size_t i = 0; i < errors.size(); ++i) statuses[i].MPI_ERROR = errors[i];
  return MPI_ERR_IN_STATUS;
}

}  // namespace

// Requests stay as they are, whatever the answer.

int on_Request_get_status_all(int count, const MPI_Request array_of_requests[], int* flag,
                              MPI_Status* array_of_statuses) {
  if (HOB_LIKELY(only_native(count, array_of_requests)) || count <= 0)
    return real::Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
  Mix mix(count, const_cast<MPI_Request*>(array_of_requests));
  *flag = 0;
  if (!mix.ready()) advance();
  if (!mix.ready()) return MPI_SUCCESS;
  if (blocking_needs_care()) advance();
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(mix.natives()));
  int error = MPI_SUCCESS;
  *flag = 1;
  if (mix.natives() != 0)
    error = real::Request_get_status_all(mix.natives(), mix.native(), flag, statuses.data());
  if (!*flag) return error;
  mix.heard_all();
  std::vector<int> errors(static_cast<std::size_t>(count), MPI_SUCCESS);
  bool failed = error == MPI_ERR_IN_STATUS;
  for (int i = 0; i < mix.natives(); ++i) {
    const MPI_Status& status = statuses[static_cast<std::size_t>(i)];
    if (failed) errors[static_cast<std::size_t>(mix.place(i))] = status.MPI_ERROR;
    copy_status(status, at(array_of_statuses, mix.place(i)));
  }
  for (const int i : mix.idle()) copy_status(empty_status(), at(array_of_statuses, i));
  for (const Mix::Own& own : mix.own()) {
    int& its = errors[static_cast<std::size_t>(own.place)];
    its = ask(*own.operation, at(array_of_statuses, own.place));
    failed |= its != MPI_SUCCESS;
  }
  return in_statuses(error, failed, errors, array_of_statuses);
}

int on_Request_get_status_any(int count, const MPI_Request array_of_requests[], int* index,
                              int* flag, MPI_Status* status) {
  if (HOB_LIKELY(only_native(count, array_of_requests)) || count <= 0)
    return real::Request_get_status_any(count, array_of_requests, index, flag, status);
  advance();
  Mix mix(count, const_cast<MPI_Request*>(array_of_requests));
  for (const Mix::Own& own : mix.own()) {
    if (!own.operation->ready()) continue;
    *flag = 1;
    *index = own.place;
    return ask(*own.operation, status);
  }
  int native = MPI_UNDEFINED, error = MPI_SUCCESS;
  *flag = 1;
  if (mix.natives() != 0)
    error = real::Request_get_status_any(mix.natives(), mix.native(), &native, flag, status);
  const bool found = *flag && native != MPI_UNDEFINED;
  *index = found ? mix.place(native) : MPI_UNDEFINED;
  if (found) mix.heard(native);
  if (found || error != MPI_SUCCESS) return error;
  *flag = *flag && mix.own().empty();
  if (*flag) copy_status(empty_status(), status);
  return MPI_SUCCESS;
}

int on_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int* outcount,
                               int array_of_indices[], MPI_Status* array_of_statuses) {
  if (HOB_LIKELY(only_native(incount, array_of_requests)) || incount <= 0)
    return real::Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                         array_of_statuses);
  advance();
  Mix mix(incount, const_cast<MPI_Request*>(array_of_requests));
  std::vector<int> errors;
  bool failed = false;
  int found = 0;
  for (const Mix::Own& own : mix.own()) {
    if (!own.operation->ready()) continue;
    array_of_indices[found] = own.place;
    errors.push_back(ask(*own.operation, at(array_of_statuses, found++)));
    failed |= errors.back() != MPI_SUCCESS;
  }
  int natives = MPI_UNDEFINED, error = MPI_SUCCESS;
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(mix.natives()));
  if (mix.natives() != 0)
    error = real::Request_get_status_some(mix.natives(), mix.native(), &natives,
                                          array_of_indices + found, statuses.data());
  const bool natives_failed = error == MPI_ERR_IN_STATUS;
  for (int i = 0; natives != MPI_UNDEFINED && i < natives; ++i, ++found) {
    const MPI_Status& status = statuses[static_cast<std::size_t>(i)];
    int& place = array_of_indices[found];
    mix.heard(place);
    place = mix.place(place);
    errors.push_back(natives_failed ? status.MPI_ERROR : MPI_SUCCESS);
    copy_status(status, at(array_of_statuses, found));
  }
  *outcount = mix.own().empty() && natives == MPI_UNDEFINED ? MPI_UNDEFINED : found;
  return in_statuses(error, failed || natives_failed, errors, array_of_statuses);
}

#endif

}  // namespace hob::mpi
