// What origins and ghosts say to each other. All integers in the machine's own order: origins and
// ghosts of one job run the same library.
//
// A request message is a MessageHeader followed by records; each record is a Record followed by
// its block list (if any) and its data (if inline), each padded to 8 bytes. A message is answered
// once, when all its records are done, by a ReplyHeader followed by the small results in the order
// of their records, each padded to 8 bytes. Large data travel as messages of their own, straight
// from and to their final places, under a tag that the record names. Where no answer is wanted, the
// ghost counts the operations at their targets (Target::counted).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ghost/block.hpp"
#include "ghost/target.hpp"

namespace hob::ghost {

enum class Kind : std::uint8_t {
  put,
  get,
  accumulate,
  get_accumulate,
  compare_and_swap,
  unlock,
  shutdown
};

/// Requests are at most this long; ghosts keep receive buffers of this size posted.
inline constexpr std::size_t kMessageBytes = std::size_t{16} * 1024;
/// Data of more bytes than this leave the request message and travel by themselves.
inline constexpr std::size_t kInlineBytes = std::size_t{8} * 1024;

struct MessageHeader {
  std::uint32_t tag;  ///< of the reply; 0: no reply wanted
  std::uint32_t records;
};

struct ReplyHeader {
  std::uint32_t status;  ///< a bit for each record that failed (failure_bit); 0: none did
  std::uint32_t bytes;   ///< of results that follow
};

/// Of the record of that number in its message, in ReplyHeader::status. Late ones share the last.
inline std::uint32_t failure_bit(std::size_t number) {
  return std::uint32_t{1} << (number < 31 ? number : 31);
}

struct Record {
  enum Flags : std::uint8_t {
    lock_shared = 1,  ///< take the target's lock before this operation
    lock_exclusive = 2,
    strided = 4,      ///< the block list is one Stride
    after_fence = 8,  ///< not before the target's owner has entered its fence number `fence`
  };
  Kind kind;
  std::uint8_t operation;  ///< accumulates: number of the operation; unlock: LockMode
  std::uint8_t type;       ///< accumulates: number of the element type
  std::uint8_t flags;
  std::uint32_t element;  ///< accumulates: bytes of one element
  std::uint64_t target;   ///< where the Target is in the arena of the ghost's node
  std::int64_t offset;    ///< first byte; base of the blocks
  std::uint64_t bytes;    ///< of data moved in each direction
  std::uint32_t
      blocks;  ///< entries of the block list; 0: one run of `bytes`; strided: their number
  std::uint32_t data_tag;    ///< large data come separately under this tag; 0: inline
  std::uint32_t result_tag;  ///< large results go separately under this tag; 0: in the reply
  std::uint32_t fence;

  LockMode lock() const {
    if ((flags & lock_exclusive) != 0) return LockMode::exclusive;
    return (flags & lock_shared) != 0 ? LockMode::shared : LockMode::none;
  }
  bool carries_data() const {
    return kind == Kind::put || kind == Kind::compare_and_swap ||
           ((kind == Kind::accumulate || kind == Kind::get_accumulate) && operation != 1);
  }
  bool has_result() const {
    return kind == Kind::get || kind == Kind::get_accumulate || kind == Kind::compare_and_swap;
  }
  /// compare_and_swap sends two elements: compare, then replacement.
  std::uint64_t data_bytes() const {
    if (!carries_data()) return 0;
    return kind == Kind::compare_and_swap ? 2 * bytes : bytes;
  }
};

/// Equal blocks at equal distances.
struct Stride {
  std::uint64_t length;
  std::int64_t distance;
};

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

/// Whether one Stride describes the blocks.
inline bool is_strided(std::span<const Block> blocks) {
  if (blocks.size() < 2) return false;
  const std::int64_t distance = blocks[1].offset - blocks[0].offset;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].length != blocks[0].length) return false;
    if (i > 0 && blocks[i].offset - blocks[i - 1].offset != distance) return false;
  }
  return true;
}

/// Bytes that a block list takes in a message.
inline std::size_t list_bytes(std::span<const Block> blocks) {
  if (blocks.size() <= 1) return 0;
  return is_strided(blocks) ? sizeof(Stride) : blocks.size() * sizeof(Block);
}

/// Reads the records of one request message.
class Reader {
 public:
  Reader(const std::byte* message, std::size_t bytes) : at_(message), end_(message + bytes) {
    std::memcpy(&header_, at_, sizeof header_);
    at_ += sizeof header_;
    left_ = header_.records;
  }
  const MessageHeader& header() const { return header_; }

  /// The next record, its blocks and its inline data; false at the end.
  bool next(Record& record, std::vector<Block>& blocks, const std::byte*& data) {
    if (left_ == 0 || static_cast<std::size_t>(end_ - at_) < sizeof record) return false;
    --left_;
    std::memcpy(&record, at_, sizeof record);
    at_ += sizeof record;
    blocks.clear();
    if (record.blocks == 0) {
      blocks.push_back({record.offset, record.bytes});
    } else if ((record.flags & Record::strided) != 0) {
      Stride stride;
      std::memcpy(&stride, at_, sizeof stride);
      at_ += sizeof stride;
      for (std::uint32_t i = 0; i < record.blocks; ++i) {
        blocks.push_back({record.offset + i * stride.distance, stride.length});
      }
    } else {
      blocks.resize(record.blocks);
      std::memcpy(blocks.data(), at_, record.blocks * sizeof(Block));
      at_ += record.blocks * sizeof(Block);
      for (Block& block : blocks) block.offset += record.offset;
    }
    data = at_;
    if (record.data_tag == 0) at_ += padded(record.data_bytes());
    return true;
  }

 private:
  MessageHeader header_;
  const std::byte* at_;
  const std::byte* end_;
  std::uint32_t left_;
};

/// Writes the records of one request message into a buffer of message_bytes.
class Writer {
 public:
  /// Starts anew.
  void open(std::byte* buffer) {
    buffer_ = buffer;
    used_ = sizeof(MessageHeader);
    records_ = 0;
  }
  /// Room that a record needs.
  static std::size_t need(std::span<const Block> blocks, std::size_t data) {
    return sizeof(Record) + list_bytes(blocks) + padded(data);
  }
  std::size_t room() const { return kMessageBytes - used_; }
  std::uint32_t records() const { return records_; }
  std::size_t used() const { return used_; }

  /// Appends a record with blocks relative to 0 (offset, blocks and the strided flag are filled in
  /// here); the caller has checked room. Returns where the record's inline data go.
  std::byte* append(Record record, std::span<const Block> blocks, std::size_t data) {
    record.blocks = 0;
    record.offset = blocks.empty() ? 0 : blocks[0].offset;
    const bool list = blocks.size() > 1;
    const bool strided = list && is_strided(blocks);
    if (list) record.blocks = static_cast<std::uint32_t>(blocks.size());
    if (list && !strided) record.offset = 0;
    if (strided) record.flags |= Record::strided;
    std::memcpy(buffer_ + used_, &record, sizeof record);
    used_ += sizeof record;
    if (strided) {
      const Stride stride{blocks[0].length, blocks[1].offset - blocks[0].offset};
      std::memcpy(buffer_ + used_, &stride, sizeof stride);
      used_ += sizeof stride;
    } else if (list) {
      std::memcpy(buffer_ + used_, blocks.data(), blocks.size() * sizeof(Block));
      used_ += blocks.size() * sizeof(Block);
    }
    std::byte* place = buffer_ + used_;
    used_ += padded(data);
    ++records_;
    return place;
  }

  void close(std::uint32_t tag) {
    const MessageHeader header{tag, records_};
    std::memcpy(buffer_, &header, sizeof header);
  }

 private:
  std::byte* buffer_ = nullptr;
  std::size_t used_ = 0;
  std::uint32_t records_ = 0;
};

}  // namespace hob::ghost
