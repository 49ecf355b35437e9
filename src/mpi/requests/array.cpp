#include "mpi/requests/array.hpp"

#include <mutex>
#include <utility>

#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

void RequestArray::GiveBack::operator()(ArrayContent* content) const {
  content->clear();
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  content->next_free = std::exchange(all.free_contents, content);
}

RequestArray::RequestArray(int count, MPI_Request* requests, bool repeated)
    : requests_(requests), count_(count), looked_up_(!only_watched()) {
  Registry& all = registry();
  if (looked_up_ && repeated && count >= KeptArray::kFewest) {
    KeptArray& kept = KeptArray::only();
    if (kept.begin(count, requests)) {
      kept_ = &kept;
      content_ = &kept.content();
      last_watch_ = all.watches;
      return;
    }
  }
  const std::lock_guard guard(all.lock);
  if (!all.free_contents) all.free_contents = new ArrayContent;
  borrowed_.reset(std::exchange(all.free_contents, all.free_contents->next_free));
  content_ = borrowed_.get();
  last_watch_ = all.watches;
  content_->seen.assign(requests, requests + count);
  if (many_threads) take_watches();
  if (looked_up_) sort_out();
}

/// Under the registry's lock.
void RequestArray::take_watches() {
  content_->watches.reserve(content_->seen.size());
  for (const MPI_Request request : content_->seen)
    content_->watches.push_back(take_watch(request, known(request)));
}

/// Under the registry's lock.
void RequestArray::sort_out() {
  ArrayContent& content = *content_;
  for (int i = 0; i < count_; ++i) {
    const MPI_Request request = requests_[i];
    const KnownHandle* const entry = known(request);
    Operation* const operation = entry ? entry->operation : nullptr;
    if (!operation) {
      content.natives.push_back(request);
      content.places.push_back(i);
    } else if (operation->active()) {
      content.own.push_back({i, operation});
    } else {
      content.idle_places.push_back(i);
    }
  }
  content.active = content.own.size();
  content.idle = content.idle_places.size();
}

RequestArray::~RequestArray() {
  if (kept_) kept_->end(returned_);
  for (Watch& watch : content_->watches)  // none of a kept one
    if (watch.observer) put_back(watch, !returned_);
}

void RequestArray::notify_failed() {
  for (int i = 0; i < count_; ++i)
    if (requests_[i] != seen(i)) notify(i, seen(i), true);
}

void RequestArray::completed(int native) {
  const int at = place(native);
  const MPI_Request before = seen(at);
  requests_[at] = native_requests()[native];
  if (kept_) {
    seen(at) = requests_[at];
    if (requests_[at] == MPI_REQUEST_NULL) kept_->vacate(static_cast<std::size_t>(at));
  }
  notify(at, before, false);
}

std::vector<MPI_Request>& RequestArray::with_missing() {
  for (const OwnRequest& own : own())
    if (const MPI_Request missing = own.operation->missing(); missing != MPI_REQUEST_NULL)
      content_->natives.push_back(missing);
  return content_->natives;
}

}  // namespace hob::mpi::requests
