#include "model.hpp"

#include <algorithm>
#include <cstring>

namespace fuzz {

namespace {

template <typename T>
void combine_as(Op op, std::uint8_t* target, const std::uint8_t* value) {
  T a;
  T b;
  std::memcpy(&a, target, sizeof a);
  std::memcpy(&b, value, sizeof b);
  switch (op) {
    case Op::kReplace:
      a = b;
      break;
    case Op::kSum:
      a = static_cast<T>(a + b);
      break;
    case Op::kProd:
      a = static_cast<T>(static_cast<std::uint64_t>(a) * b);
      break;
    case Op::kXor:
      a = static_cast<T>(a ^ b);
      break;
    case Op::kAnd:
      a = static_cast<T>(a & b);
      break;
    case Op::kOr:
      a = static_cast<T>(a | b);
      break;
    case Op::kMax:
      a = std::max(a, b);
      break;
    case Op::kMin:
      a = std::min(a, b);
      break;
    case Op::kNoOp:
      break;
  }
  std::memcpy(target, &a, sizeof a);
}

Ranks bit(int rank) { return Ranks{1} << rank; }

}  // namespace

void Memory::resize(std::size_t size, Ranks everybody) {
  bytes.assign(size, 0);
  const std::size_t blocks = (size + kBlock - 1) / kBlock;
  known.assign(blocks, everybody);
  readers.assign(blocks, 0);
  writers.assign(blocks, 0);
  before.assign(blocks, 0);
  pending.assign(blocks, 0);
  sum.assign(blocks, 0);
}

Blocks blocks_of(const std::vector<std::int64_t>& places, std::int64_t start, int element) {
  Blocks blocks;
  blocks.reserve(places.size() * 2);
  for (std::int64_t place : places) {
    const int first = static_cast<int>((start + place) / kBlock);
    const int last = static_cast<int>((start + place + element - 1) / kBlock);
    if (blocks.empty() || blocks.back() != first) blocks.push_back(first);
    if (last != first) blocks.push_back(last);
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

bool overlap(const Blocks& a, const Blocks& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return true;
    if (*i < *j)
      ++i;
    else
      ++j;
  }
  return false;
}

bool may_read(const Memory& memory, const Blocks& blocks, int rank) {
  return std::all_of(blocks.begin(), blocks.end(), [&](int b) {
    return (memory.known[static_cast<std::size_t>(b)] & bit(rank)) != 0;
  });
}

bool may_write(const Memory& memory, const Blocks& blocks, int rank) {
  return std::all_of(blocks.begin(), blocks.end(), [&](int block) {
    const auto b = static_cast<std::size_t>(block);
    return (memory.known[b] & bit(rank)) != 0 && (memory.readers[b] & ~bit(rank)) == 0;
  });
}

bool may_accumulate(const Memory& memory, const Blocks& blocks, int rank, std::uint16_t sum) {
  return std::all_of(blocks.begin(), blocks.end(), [&](int block) {
    const auto b = static_cast<std::size_t>(block);
    if (memory.sum[b] == sum)
      return (memory.before[b] & bit(rank)) != 0 && (memory.readers[b] & ~bit(rank)) == 0;
    return (memory.known[b] & bit(rank)) != 0 && (memory.readers[b] & ~bit(rank)) == 0;
  });
}

bool may_read_own_sums(const Memory& memory, const Blocks& blocks, int rank, Base base, int alias) {
  return std::all_of(blocks.begin(), blocks.end(), [&](int block) {
    const auto b = static_cast<std::size_t>(block);
    if ((memory.known[b] & bit(rank)) != 0) return true;
    return memory.sum[b] != 0 && memory.sum[b] % 16 == static_cast<int>(base) + 1 &&
           memory.sum[b] / 256 == alias && memory.writers[b] == bit(rank);
  });
}

void note_read(Memory& memory, const Blocks& blocks, int rank) {
  for (int b : blocks) memory.readers[static_cast<std::size_t>(b)] |= bit(rank);
}

void begin_write(Memory& memory, const Blocks& blocks, int rank, std::uint16_t sum) {
  for (int block : blocks) {
    const auto b = static_cast<std::size_t>(block);
    if (memory.sum[b] != sum || sum == 0) {
      memory.before[b] = memory.known[b];
      memory.writers[b] = 0;
    }
    memory.sum[b] = sum;
    memory.known[b] = 0;
    memory.writers[b] |= bit(rank);
    ++memory.pending[b];
  }
}

void complete_write(Memory& memory, const Blocks& blocks, int rank, int knower) {
  for (int block : blocks) {
    const auto b = static_cast<std::size_t>(block);
    --memory.pending[b];
    if (memory.pending[b] == 0 && memory.writers[b] == bit(rank)) memory.known[b] = bit(knower);
  }
}

void inform(Memory& memory, Ranks from, Ranks to) {
  for (Ranks& known : memory.known) {
    if ((known & from) == from) known |= to;
  }
}

void inform_at_once(Memory& memory, const std::vector<std::pair<Ranks, Ranks>>& told) {
  for (Ranks& known : memory.known) {
    const Ranks before = known;
    for (const auto& [from, to] : told) {
      if ((before & from) != 0) known |= to;
    }
  }
}

void synchronise(Memory& memory, Ranks everybody) {
  for (std::size_t b = 0; b < memory.known.size(); ++b) {
    memory.readers[b] = 0;
    if (memory.pending[b] != 0) continue;
    memory.known[b] = everybody;
    memory.writers[b] = 0;
    memory.sum[b] = 0;
  }
}

MPI_Op mpi_op(Op op) {
  switch (op) {
    case Op::kReplace:
      return MPI_REPLACE;
    case Op::kSum:
      return MPI_SUM;
    case Op::kProd:
      return MPI_PROD;
    case Op::kXor:
      return MPI_BXOR;
    case Op::kAnd:
      return MPI_BAND;
    case Op::kOr:
      return MPI_BOR;
    case Op::kMax:
      return MPI_MAX;
    case Op::kMin:
      return MPI_MIN;
    case Op::kNoOp:
      return MPI_NO_OP;
  }
  return MPI_NO_OP;
}

std::uint16_t sum_of(Op op, Base base, int alias) {
  return static_cast<std::uint16_t>(alias * 256 + (static_cast<int>(op) + 1) * 16 +
                                    static_cast<int>(base) + 1);
}

void combine(Op op, Base base, std::uint8_t* target, const std::uint8_t* value) {
  switch (base) {
    case Base::kUint16:
      combine_as<std::uint16_t>(op, target, value);
      break;
    case Base::kUint32:
      combine_as<std::uint32_t>(op, target, value);
      break;
    case Base::kUint64:
    case Base::kDouble:
      combine_as<std::uint64_t>(op, target, value);
      break;
    default:
      combine_as<std::uint8_t>(op, target, value);
      break;
  }
}

}  // namespace fuzz
