#include "batch/operation_buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hob::batch {

void OperationBuffer::grow() {
  const std::size_t more = std::max<std::size_t>(64, 2 * room_);
  places_.reserve(more);
  lengths_.reserve(more);
  offsets_.reserve(more);
  begins_.reserve(more);
  room_ = more;
}

void OperationBuffer::keep_lengths() {
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    lengths_.push_back(first_length_);
    offsets_.push_back(i * first_length_);
  }
  uniform_ = false;
}

void OperationBuffer::grow_data(std::uint64_t wanted) {
  constexpr std::uint64_t kFewest = 1024;
  const std::uint64_t room = std::bit_ceil(std::max(wanted, kFewest));
  std::unique_ptr<std::byte[]> bigger(new std::byte[room]);
  if (bytes_ != 0) std::memcpy(bigger.get(), data_.get(), bytes_);
  data_ = std::move(bigger);
  data_room_ = room;
}

std::byte* OperationBuffer::results() {
  if (bytes_ > result_room_) {
    const std::uint64_t room = std::bit_ceil(bytes_);
    results_.reset(new std::byte[room]);
    result_room_ = room;
  }
  return results_.get();
}

void OperationBuffer::deliver() const {
  const std::byte* from = results_.get();
  const std::size_t count = places_.size();
  if (uniform_ && first_length_ == sizeof(std::uint64_t)) {
    for (std::size_t i = 0; i < count; ++i, from += sizeof(std::uint64_t))
      if (places_[i]) std::memcpy(places_[i], from, sizeof(std::uint64_t));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bytes = length_of(static_cast<std::uint32_t>(i));
    if (places_[i]) std::memcpy(places_[i], from, bytes);
    from += bytes;
  }
}

void OperationBuffer::clear() {
  begins_.clear();
  offsets_.clear();
  lengths_.clear();
  places_.clear();
  bytes_ = 0;
  uniform_ = consecutive_ = true;
}

std::uint64_t OperationBuffer::memory_bytes() const {
  return begins_.capacity() * sizeof begins_[0] + offsets_.capacity() * sizeof offsets_[0] +
         lengths_.capacity() * sizeof lengths_[0] + places_.capacity() * sizeof places_[0] +
         data_room_ + result_room_;
}

}  // namespace hob::batch
