// The memory that all records of a process share. Pure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hob::recall {

/// A number of bytes, of which several owners take parts. Thread safe.
class Room {
 public:
  explicit Room(std::uint64_t most) : most_(most) {}

  /// False if so many more are too many.
  bool take(std::uint64_t bytes) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::uint64_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  std::uint64_t most_;
  std::atomic<std::uint64_t> taken_{0};
};

/// A container whose memory comes out of a room, and is given back with the object. Not thread
/// safe.
template <class Container>
class Roomy {
 public:
  explicit Roomy(Room& room) : room_(&room) {}
  Roomy(Roomy&& other) noexcept
      : places(std::move(other.places)), room_(other.room_), taken_(other.taken_) {
    other.places = {};
    other.taken_ = 0;
  }
  Roomy& operator=(Roomy&& other) noexcept {
    if (this == &other) return *this;
    free();
    places = std::move(other.places);
    room_ = other.room_;
    taken_ = other.taken_;
    other.places = {};
    other.taken_ = 0;
    return *this;
  }
  ~Roomy() { free(); }

  /// Room for `count` elements in all. False: there is none, and nothing changed.
  bool reserve(std::size_t count) noexcept {
    if (count <= places.capacity()) return true;
    const std::uint64_t more = count * sizeof(typename Container::value_type) - taken_;
    if (!room_->take(more)) return false;
    try {
      places.reserve(count);
    } catch (...) {
      room_->give_back(more);
      return false;
    }
    taken_ += more;
    return true;
  }
  void free() noexcept {
    places = Container();
    room_->give_back(taken_);
    taken_ = 0;
  }
  std::uint64_t memory_bytes() const { return taken_; }

  Container places;

 private:
  Room* room_;
  std::uint64_t taken_ = 0;
};

}  // namespace hob::recall
