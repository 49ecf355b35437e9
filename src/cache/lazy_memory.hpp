#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace hob::cache {

/// A range of addresses of which a growing front part is backed by memory. Addresses never change,
/// and running out of memory is an answer, not an exception. What small ranges had is kept for
/// those that come after them: a page that is touched for the first time costs as much as a copy of
/// several, and programs may make and free windows all the time.
class LazyMemory {
 public:
  LazyMemory() = default;
  ~LazyMemory() { unmap(); }
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  LazyMemory(LazyMemory&& other) noexcept { swap(other); }
  LazyMemory& operator=(LazyMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  /// How many addresses to set aside for something that may grow to `most` bytes and begins with
  /// `begin`: fewer, the more this process has set aside already, so that a thousand caches leave
  /// it some. Thread safe.
  static std::uint64_t share(std::uint64_t most, std::uint64_t begin) noexcept;

  /// Sets addresses aside. If the system refuses, or a limit on addresses leaves less, half as many
  /// are tried, down to `least` bytes.
  bool reserve(std::uint64_t bytes, std::uint64_t least) noexcept;

  /// Backs at least the first `bytes` bytes by (zeroed) memory, all of it touched, so that later
  /// writes take no page fault. Grows by half of what is there at least, to stay rare, but by no
  /// more than kMostAhead beyond what is asked for; and by whole huge pages where these end within
  /// `most`, of what is ever needed.
  bool commit(std::uint64_t bytes, std::uint64_t most = ~std::uint64_t{0}) noexcept;

  /// Touching so much takes 0.2 to 4 ms, in which other processes' calls do not advance here.
  static constexpr std::uint64_t kMostAhead = std::uint64_t{2} << 20;

  /// So many ranges that ended are kept, a cache has nine, and so much of each stays backed.
  static constexpr std::uint64_t kMostKept = 12, kMostKeptBytes = std::uint64_t{512} << 10;

  /// Gives the memory behind the first `bytes` bytes back to the system.
  void trim(std::uint64_t bytes) noexcept;

  /// Notifies the watcher, if there is one, of the memory that is backed now. Not to be trimmed
  /// afterwards.
  void observe() noexcept;

  std::byte* data() const { return base_; }
  std::uint64_t committed() const { return committed_; }
  std::uint64_t reserved() const { return reserved_; }

 private:
  static std::byte* map(std::uint64_t bytes) noexcept;
  std::uint64_t whole_pages(std::uint64_t wish, std::uint64_t most) noexcept;
  bool take_kept(std::uint64_t bytes) noexcept;
  bool keep() noexcept;
  void unmap() noexcept;
  void swap(LazyMemory& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(reserved_, other.reserved_);
    std::swap(committed_, other.committed_);
    std::swap(backed_, other.backed_);
    std::swap(observed_, other.observed_);
    std::swap(early_, other.early_);
  }

  std::byte* base_ = nullptr;
  std::uint64_t reserved_ = 0;
  std::uint64_t committed_ = 0;
  std::uint64_t backed_ = 0;  ///< what lies behind committed_ may hold anything
  bool observed_ = false;
  bool early_ = false;  ///< has a huge page of which it may need little
};

/// An array of T (trivial, all zeroes is a valid value) in lazy memory.
template <class T>
class LazyArray {
 public:
  bool reserve(std::uint64_t count, std::uint64_t least) noexcept {
    return memory_.reserve(count * sizeof(T), least * sizeof(T));
  }
  /// LazyMemory::share, in elements.
  static std::uint64_t share(std::uint64_t most, std::uint64_t begin) noexcept {
    return LazyMemory::share(most * sizeof(T), begin * sizeof(T)) / sizeof(T);
  }
  /// Makes elements [0, count) usable.
  bool grow(std::uint64_t count) noexcept { return count <= size_ || grow_slow(count); }
  T& operator[](std::uint64_t i) const { return reinterpret_cast<T*>(memory_.data())[i]; }
  std::uint64_t size() const { return size_; }
  std::uint64_t max_size() const { return memory_.reserved() / sizeof(T); }
  std::uint64_t bytes() const { return memory_.committed(); }

 private:
  bool grow_slow(std::uint64_t count) noexcept {
    if (!memory_.commit(count * sizeof(T))) return false;
    size_ = memory_.committed() / sizeof(T);
    return true;
  }

  LazyMemory memory_;
  std::uint64_t size_ = 0;
};

/// An array of a fixed number of zeroed T, backed when touched; may be empty.
template <class T>
class ZeroArray {
 public:
  bool allocate(std::uint64_t count) noexcept {
    LazyMemory memory;
    if (!memory.reserve(count * sizeof(T), count * sizeof(T)) || !memory.commit(count * sizeof(T)))
      return false;
    memory.observe();
    memory_ = std::move(memory);
    size_ = count;
    return true;
  }
  T& operator[](std::uint64_t i) const { return reinterpret_cast<T*>(memory_.data())[i]; }
  std::uint64_t size() const { return size_; }
  std::uint64_t bytes() const { return memory_.committed(); }

 private:
  LazyMemory memory_;
  std::uint64_t size_ = 0;
};

}  // namespace hob::cache
