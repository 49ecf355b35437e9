#include "gets/ahead_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "os/memory.hpp"

namespace hob::gets {

void lay_out(AheadFetch& fetch, std::uint64_t begin) {
  const auto before = [](const RecalledPlace& a, const RecalledPlace& b) {
    return a.displacement < b.displacement;
  };
  std::vector<RecalledPlace>& places = fetch.recalled;
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  std::uint64_t offset = 0;
  for (RecalledPlace& place : places) {
    place.offset = fetch.spans ? place.displacement - begin : offset;
    offset += place.bytes;
  }
}

std::unique_ptr<AheadFetch> AheadPool::take(std::uint64_t bytes) noexcept {
  for (std::unique_ptr<AheadFetch>& fetch : free_) {
    if (fetch->capacity < bytes) continue;
    std::swap(fetch, free_.back());
    std::unique_ptr<AheadFetch> taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  const std::uint64_t capacity = std::bit_ceil(bytes);
  while (memory_ + capacity > kMost && !free_.empty()) {
    memory_ -= free_.back()->capacity;
    free_.pop_back();
  }
  if (memory_ + capacity > kMost) return nullptr;
  std::unique_ptr<AheadFetch> fetch(new (std::nothrow) AheadFetch);
  if (!fetch) return nullptr;
  fetch->staging.reset(new (std::nothrow) std::byte[capacity]);
  if (!fetch->staging) return nullptr;
  os::provide(fetch->staging.get(), bytes);
  fetch->capacity = capacity;
  memory_ += capacity;
  return fetch;
}

void AheadPool::give_back(std::unique_ptr<AheadFetch> fetch) noexcept {
  if (!fetch) return;
  fetch->blocks = {};
  fetch->recalled.clear();
  fetch->again = fetch->aged = fetch->spans = false;
  const std::uint64_t capacity = fetch->capacity;
  try {
    free_.push_back(std::move(fetch));
  } catch (const std::bad_alloc&) {
    memory_ -= capacity;
  }
}

}  // namespace hob::gets
