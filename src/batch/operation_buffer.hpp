// What one batch holds: operations of one kind to one target, in program order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace hob::batch {

/// Operations on contiguous bytes: where they lie at the target, where at the origin, and the
/// origin's data where these go out. Used again after clear(). Not thread safe; functions that add
/// may throw std::bad_alloc, and have then changed nothing.
class OperationBuffer {
 public:
  /// An operation that brings `bytes` to `place` (null: nothing comes back).
  void add(std::uint64_t begin, std::uint32_t bytes, std::byte* place) {
    if (begins_.size() == room_) grow();
    if (begins_.empty()) {
      first_length_ = bytes;
    } else {
      if (bytes != first_length_ && uniform_) keep_lengths();
      consecutive_ = consecutive_ && place == end_of_place_;
    }
    if (!uniform_) {
      lengths_.push_back(bytes);
      offsets_.push_back(bytes_);
    }
    begins_.push_back(begin);
    places_.push_back(place);
    end_of_place_ = place + bytes;
    bytes_ += bytes;
  }

  /// The same with data, which are copied: `data` null stands for zeros.
  void add(std::uint64_t begin, std::uint32_t bytes, std::byte* place, const std::byte* data) {
    const std::uint64_t offset = bytes_;
    if (offset + bytes > data_room_) grow_data(offset + bytes);
    add(begin, bytes, place);
    if (data)
      std::memcpy(data_.get() + offset, data, bytes);
    else
      std::memset(data_.get() + offset, 0, bytes);
  }

  /// The same for 8 bytes, which are most of all.
  void add_word(std::uint64_t begin, std::byte* place, const std::byte* data) {
    const std::uint64_t offset = bytes_;
    if (offset + sizeof(std::uint64_t) > data_room_) grow_data(offset + sizeof(std::uint64_t));
    add(begin, sizeof(std::uint64_t), place);
    std::memcpy(data_.get() + offset, data, sizeof(std::uint64_t));
  }

  /// The data of operation `number`, if operations have any.
  std::byte* data_of(std::uint32_t number) {
    return data_.get() + (uniform_ ? std::uint64_t{number} * first_length_ : offsets_[number]);
  }

  std::byte* place_of(std::uint32_t number) const { return places_[number]; }

  std::size_t operations() const { return begins_.size(); }
  bool empty() const { return begins_.empty(); }
  std::uint64_t bytes() const { return bytes_; }
  /// All operations have as many bytes as the first one.
  bool uniform() const { return uniform_; }
  std::uint32_t length_of(std::uint32_t number) const {
    return uniform_ ? first_length_ : lengths_[number];
  }
  /// The places follow each other, so that what comes back can be received there.
  bool consecutive() const { return consecutive_; }

  const std::vector<std::uint64_t>& begins() const { return begins_; }
  /// Of all operations, unless uniform().
  const std::vector<std::uint32_t>& lengths() const { return lengths_; }
  std::byte* first_place() const { return places_.empty() ? nullptr : places_.front(); }
  const std::byte* data() const { return data_.get(); }

  /// Room for what comes back, bytes() long. Throws std::bad_alloc.
  std::byte* results();

  /// The result of operation `number` is no longer wanted: its place is null.
  void discard(std::uint32_t number) {
    places_[number] = nullptr;
    consecutive_ = false;
  }

  /// Copies what came back to where the program wants it.
  void deliver() const;

  void clear();
  std::uint64_t memory_bytes() const;

 private:
  void grow();
  void grow_data(std::uint64_t wanted);
  void keep_lengths();

  std::vector<std::uint64_t> begins_;
  std::vector<std::byte*> places_;
  std::vector<std::uint64_t> offsets_;  ///< of the data; none while uniform_
  std::vector<std::uint32_t> lengths_;  ///< none while uniform_
  std::size_t room_ = 0;                ///< operations for which all four have room
  std::byte* end_of_place_ = nullptr;   ///< of the last operation
  std::unique_ptr<std::byte[]> data_, results_;
  std::uint64_t data_room_ = 0, result_room_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t first_length_ = 0;
  bool uniform_ = true, consecutive_ = true;
};

}  // namespace hob::batch
