#include "validation/store_tracker.hpp"

#include <utility>

#include "os/memory.hpp"
#include "validation/mappings.hpp"

namespace hob::validation {
namespace {

std::uintptr_t page_of(std::uintptr_t address) {
  return address / os::page_bytes() * os::page_bytes();
}

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
    : tracking_(tracking),
      owner_(owner),
      begin_(page_of(reinterpret_cast<std::uintptr_t>(base))),
      end_(bytes == 0
               ? begin_
               : page_of(reinterpret_cast<std::uintptr_t>(base) + bytes - 1) + os::page_bytes()),
      pages_(begin_, end_) {
  dirty_.begin = begin_;
  dirty_.end = end_;
}

StoreTracker::~StoreTracker() { stop(); }

void StoreTracker::stop() {
  active_ = false;
  if (dirty_.watched) SoftDirty::process().forget(dirty_);
  pages_.remove();
}

bool StoreTracker::know_memory() {
  const Mappings memory = mappings_of(begin_, end_);
  if (!memory.known || (memory.shared && owner_ != Owner::library)) return false;
  shared_ = memory.shared;
  absent_ = memory.files    ? WatchedPages::Absent::none
            : memory.shared ? WatchedPages::Absent::unknown
                            : WatchedPages::Absent::zeros;
  return true;
}

bool StoreTracker::watch_pages() {
  // What replaces a mapping afterwards is not registered, so it is looked at when it is.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!pages_.added() && !(pages_.add() && know_memory())) break;
    if (pages_.protect(absent_)) return true;
    pages_.remove();
  }
  pages_.remove();
  return false;
}

bool StoreTracker::watch_bits(std::uint64_t moment) {
  if (!know_memory()) return false;
  dirty_.whole = absent_ == WatchedPages::Absent::none;
  return SoftDirty::process().track(dirty_, moment);
}

bool StoreTracker::track(std::uint64_t moment) {
  active_ = false;
  if (refused_ || !available(tracking_)) return false;
  if (begin_ == end_ || tracking_ == Tracking::promised) return active_ = true;
  active_ = tracking_ == Tracking::soft_dirty ? watch_bits(moment) : watch_pages();
  refused_ = !active_;
  return active_;
}

/// Pages whose bytes may have changed since track(), at least one if any has; -1 if the kernel does
/// not say.
std::int64_t StoreTracker::changed() const {
  if (!available(tracking_)) return -1;
  if (tracking_ == Tracking::soft_dirty) return SoftDirty::process().pages_written(dirty_);
  return pages_.changed();
}

bool StoreTracker::written() {
  if (!active_) return true;
  if (begin_ == end_ || tracking_ == Tracking::promised) return false;
  const std::int64_t pages = changed();
  if (pages == 0) return false;
  active_ = false;
  if (tracking_ == Tracking::soft_dirty)
    SoftDirty::process().forget(dirty_);
  else if (pages > 0)
    faults_ += static_cast<std::uint64_t>(pages);
  return true;
}

std::uint64_t StoreTracker::take_faults() {
  if (tracking_ == Tracking::soft_dirty) return SoftDirty::process().take_faults();
  return std::exchange(faults_, 0);
}

}  // namespace hob::validation
