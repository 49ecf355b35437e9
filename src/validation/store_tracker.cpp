#include "validation/store_tracker.hpp"

#include <utility>

#include "os/memory.hpp"
#include "validation/mappings.hpp"

namespace hob::validation {
namespace {

/// Of fewer pages, all are watched: a sample would not cost much less.
constexpr std::uint64_t kManyPages = 4 * WatchedPages::kSampleSpans * WatchedPages::kSpanPages;

}  // namespace

bool StoreTracker::available(Tracking tracking) {
  switch (tracking) {
    case Tracking::write_protection:
      return WatchedPages::available();
    case Tracking::soft_dirty:
      return SoftDirty::available();
    case Tracking::promised:
      return true;
    case Tracking::none:
      break;
  }
  return false;
}

Tracking StoreTracker::best(bool threads) {
  if (available(Tracking::write_protection)) return Tracking::write_protection;
  if (!threads && available(Tracking::soft_dirty)) return Tracking::soft_dirty;
  return Tracking::none;
}

StoreTracker::StoreTracker(const void* base, std::uint64_t bytes, Tracking tracking, Owner owner)
    : tracking_(tracking), owner_(owner), edges_(base, bytes) {
  watch_only(edges_.pages());
}

StoreTracker::~StoreTracker() { stop(); }

void StoreTracker::stop() {
  active_ = sampling_ = false;
  if (dirty_.watched) SoftDirty::process().forget(dirty_);
  pages_->remove();
}

void StoreTracker::watch_only(const PageRange& range) {
  range_ = range;
  pages_.emplace(range);
  static_cast<PageRange&>(dirty_) = range;
}

/// Where the memory cannot be watched as a whole: watches those of its pages that hold no other
/// data, which may be none. False if that makes no difference.
bool StoreTracker::narrow() {
  const PageRange& all = edges_.pages();
  if (narrowed_ || !edges_.any() || !mappings_of(all.begin, all.end).known) return false;
  stop();
  watch_only({all.inner_begin, all.inner_end, all.inner_begin, all.inner_end});
  shared_ = false;
  return narrowed_ = true;
}

bool StoreTracker::know_memory() {
  const Mappings memory = mappings_of(range_.begin, range_.end);
  if (!memory.known || (memory.shared && owner_ != Owner::library)) return false;
  shared_ = memory.shared;
  absent_ = memory.files    ? WatchedPages::Absent::none
            : memory.shared ? WatchedPages::Absent::unknown
                            : WatchedPages::Absent::zeros;
  return true;
}

bool StoreTracker::watch_pages(WatchedPages::Extent extent) {
  // What replaces a mapping afterwards is not registered, so it is looked at when it is.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!pages_->added() && !(pages_->add() && know_memory())) break;
    if (pages_->protect(absent_, extent)) return true;
    pages_->remove();
  }
  pages_->remove();
  return false;
}

bool StoreTracker::watch_bits(std::uint64_t moment) {
  if (!know_memory()) return false;
  dirty_.whole = absent_ == WatchedPages::Absent::none;
  return SoftDirty::process().track(dirty_, moment);
}

bool StoreTracker::watch(std::uint64_t moment) {
  if (!watches_pages()) return true;
  return tracking_ == Tracking::soft_dirty ? watch_bits(moment)
                                           : watch_pages(WatchedPages::Extent::all);
}

bool StoreTracker::track(std::uint64_t moment) {
  active_ = sampling_ = false;
  if (refused_ || !available(tracking_)) return false;
  refused_ = !watch(moment) && !(narrow() && watch(moment));
  if (refused_) return false;
  compares_edges_ = narrowed_;
  // After the watch has begun: a store that comes before this shows later in the bytes or not at
  // all, one that comes after it shows.
  const bool copied = edges_.any() && tracking_ != Tracking::promised && edges_.take();
  return active_ = copied || !narrowed_;
}

bool StoreTracker::sample() {
  active_ = sampling_ = false;
  if (refused_ || tracking_ != Tracking::write_protection || !available(tracking_)) return false;
  if (pages() < kManyPages) return false;
  return sampling_ = watch_pages(WatchedPages::Extent::sample);
}

bool StoreTracker::sample_written() {
  if (!sampling_) return true;
  const StoredPages stored = changed();
  if (stored.count > 0) faults_ += static_cast<std::uint64_t>(stored.count);
  sampling_ = !stored.inside;
  return stored.inside;
}

std::uint64_t StoreTracker::pages() const { return (range_.end - range_.begin) / os::page_bytes(); }

StoredPages StoreTracker::changed() const {
  if (!available(tracking_)) return {-1, true};
  if (tracking_ == Tracking::soft_dirty) return SoftDirty::process().pages_written(dirty_);
  return pages_->changed();
}

bool StoreTracker::written() {
  if (!active_) return true;
  if (tracking_ == Tracking::promised) return false;
  const StoredPages stored = range_.empty() ? StoredPages{} : changed();
  // The watch goes on: pages that were stored to cost nothing more.
  if (stored.count > 0 && !stored.inside && edges_.any()) compares_edges_ = true;
  const bool edges_only = compares_edges_ && !stored.inside;
  if (edges_only ? edges_.same() : stored.count == 0) return false;
  found_ = edges_only ? "its first or last bytes, on pages with other data, changed"
                      : "its memory was stored to";
  active_ = false;
  if (tracking_ == Tracking::soft_dirty)
    SoftDirty::process().forget(dirty_);
  else if (stored.count > 0)
    faults_ += static_cast<std::uint64_t>(stored.count);
  return true;
}

std::uint64_t StoreTracker::take_faults() {
  if (tracking_ == Tracking::soft_dirty) return SoftDirty::process().take_faults();
  return std::exchange(faults_, 0);
}

}  // namespace hob::validation
