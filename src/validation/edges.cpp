#include "validation/edges.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "os/memory.hpp"

namespace hob::validation {

Edges::Edges(const void* base, std::uint64_t bytes)
    : begin_(reinterpret_cast<std::uintptr_t>(base)), end_(begin_ + bytes) {
  const std::uint64_t page = os::page_bytes();
  pages_.begin = begin_ / page * page;
  pages_.end = bytes == 0 ? pages_.begin : (end_ + page - 1) / page * page;
  pages_.inner_begin = (begin_ + page - 1) / page * page;
  pages_.inner_end = std::max(end_ / page * page, pages_.inner_begin);
  if (bytes == 0) return;
  head_ = std::min(pages_.inner_begin, end_) - begin_;
  tail_ = end_ - std::min(std::max(pages_.inner_end, begin_ + head_), end_);
}

/// The kernel reads, since memory may be gone or unreadable by now, which then is no fault.
bool Edges::read(std::vector<std::byte>& to) const {
  try {
    to.resize(head_ + tail_);
  } catch (const std::bad_alloc&) {
    return false;
  }
  const pid_t self = ::getpid();
  return os::read_from(self, begin_, to.data(), head_) &&
         os::read_from(self, end_ - tail_, to.data() + head_, tail_);
}

bool Edges::take() {
  if (read(copy_)) return true;
  copy_.clear();
  return false;
}

bool Edges::same() {
  return read(now_) && now_.size() == copy_.size() &&
         std::memcmp(now_.data(), copy_.data(), now_.size()) == 0;
}

bool Edges::show(ShownEdges& to) const {
  if (copy_.empty()) return false;
  to.bytes = end_ - begin_;
  to.head = static_cast<std::uint32_t>(head_);
  to.tail = static_cast<std::uint32_t>(tail_);
  std::copy(copy_.begin(), copy_.end(), to.data.begin());
  return true;
}

}  // namespace hob::validation
