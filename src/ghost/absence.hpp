// How a process shows that others write and read its memory while it is outside MPI.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hob::ghost {

/// Memory of the target, exposed in a window. While the target is outside MPI, and only then,
/// `shown` carries the number of the round at both ends of what is moved. So a get that returns the
/// number was carried out without the target. A put was, too, if its origin issued it after such a
/// get and the target has seen it in `written` while it still showed the number. All zero is a
/// valid start.
struct Absence {
  static constexpr std::size_t kBytes = 65536;

  struct Round {
    std::uint64_t number;   ///< not 0
    std::uint64_t bytes;    ///< of a put and of a get: multiples of 8 up to kBytes
    std::uint64_t wait_ns;  ///< for which the target stays outside MPI, at most
  };

  alignas(64) std::array<std::byte, kBytes> shown;
  alignas(64) std::array<std::byte, kBytes> written;

  /// The target is outside MPI, or 0: about to call it.
  void show(const Round& round, std::uint64_t number) { mark(shown.data(), round, number); }
  bool arrived(const Round& round) const { return is_marked(written.data(), round); }

  /// What an origin puts, and whether what it has got carries the number.
  static void mark(std::byte* data, const Round& round, std::uint64_t number) {
    word(data, 0).store(number, std::memory_order_release);
    word(data, round.bytes - sizeof number).store(number, std::memory_order_release);
  }
  static bool is_marked(const std::byte* data, const Round& round) {
    auto* ours = const_cast<std::byte*>(data);  // std::atomic_ref has no other way
    return word(ours, 0).load(std::memory_order_acquire) == round.number &&
           word(ours, round.bytes - sizeof round.number).load(std::memory_order_acquire) ==
               round.number;
  }

 private:
  static std::atomic_ref<std::uint64_t> word(std::byte* data, std::size_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(data + at));
  }
};

}  // namespace hob::ghost
