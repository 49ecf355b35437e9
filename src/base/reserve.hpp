// Memory that was set aside for when the system has no more. Pure.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hob {

/// Hands out pieces of kBytes that are part of it: no system call, and pages that are not used are
/// never touched. Slow where much is in use. Thread safe; a constant expression, so that it is
/// there before any constructor runs.
template <std::size_t kBytes>
class Reserve {
 public:
  /// Pieces are aligned to it, and as long as a multiple of it.
  static constexpr std::size_t kGrain = 64;
  /// What is larger is refused: a few of them would leave nothing for small ones.
  static constexpr std::size_t kLargest = kBytes / 64;

  constexpr Reserve() = default;
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  /// Null where there is no room.
  void* take(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > kLargest || alignment > kGrain) return nullptr;
    const std::size_t need = bytes == 0 ? 1 : (bytes + kGrain - 1) / kGrain;
    const Guard guard(busy_);
    for (std::size_t at = 0; at + need <= kGrains;) {
      if (length_[at] != 0) {
        at += length_[at];
        continue;
      }
      std::size_t free = 1;
      while (free < need && length_[at + free] == 0) ++free;
      if (free == need) {
        length_[at] = static_cast<std::uint16_t>(need);
        return &memory_[at * kGrain];
      }
      at += free;
    }
    return nullptr;
  }

  /// False for memory that is not of here.
  bool give_back(void* memory) noexcept {
    // By numbers: pointers into different objects have no order.
    const auto at =
        reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(memory_.data());
    if (at >= kBytes) return false;
    const Guard guard(busy_);
    length_[at / kGrain] = 0;
    return true;
  }

 private:
  static constexpr std::size_t kGrains = kBytes / kGrain;
  static_assert(kBytes % kGrain == 0 && kLargest / kGrain < UINT16_MAX);

  struct Guard {
    explicit Guard(std::atomic_flag& flag) : busy(flag) {
      while (busy.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Guard() { busy.clear(std::memory_order_release); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    std::atomic_flag& busy;
  };

  std::atomic_flag busy_;
  std::array<std::uint16_t, kGrains> length_{};  ///< in grains, of the piece that begins here
  alignas(kGrain) std::array<std::byte, kBytes> memory_{};
};

}  // namespace hob
