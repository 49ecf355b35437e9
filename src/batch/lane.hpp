// What one batch holds: operations of one kind to one target, in program order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hob::batch {

/// Operations on contiguous bytes: where they lie at the target, where at the origin, and the
/// origin's data where these go out. Used again after clear(). Not thread safe; functions that add
/// may throw std::bad_alloc, and have then changed nothing.
class Lane {
 public:
  /// An operation that brings `bytes` to `place` (null: nothing comes back).
  void add(std::uint64_t begin, std::uint32_t bytes, std::byte* place);

  /// The same with data, which are copied: `data` null stands for zeros.
  void add(std::uint64_t begin, std::uint32_t bytes, std::byte* place, const std::byte* data);

  /// The data of operation `number`, all of which have data and `bytes` bytes.
  std::byte* data_of(std::uint32_t number) { return data_.get() + offsets_[number]; }

  std::byte* place_of(std::uint32_t number) const { return places_[number]; }

  std::size_t operations() const { return begins_.size(); }
  bool empty() const { return begins_.empty(); }
  std::uint64_t bytes() const { return bytes_; }
  /// All operations have as many bytes as the first one.
  bool uniform() const { return uniform_; }
  /// The places follow each other, so that what comes back can be received there.
  bool consecutive() const { return consecutive_; }

  const std::vector<std::uint64_t>& begins() const { return begins_; }
  const std::vector<std::uint32_t>& lengths() const { return lengths_; }
  std::byte* first_place() const { return places_.empty() ? nullptr : places_.front(); }
  const std::byte* data() const { return data_.get(); }

  /// Room for what comes back, bytes() long. Throws std::bad_alloc.
  std::byte* results();

  /// Copies what came back to where the program wants it.
  void deliver() const;

  void clear();
  std::uint64_t memory_bytes() const;

 private:
  void grow_data(std::uint64_t wanted);

  std::vector<std::uint64_t> begins_;
  std::vector<std::uint64_t> offsets_;  ///< of the data, where there are any
  std::vector<std::uint32_t> lengths_;
  std::vector<std::byte*> places_;
  std::unique_ptr<std::byte[]> data_, results_;
  std::uint64_t data_room_ = 0, result_room_ = 0;
  std::uint64_t bytes_ = 0;
  bool uniform_ = true, consecutive_ = true;
};

}  // namespace hob::batch
