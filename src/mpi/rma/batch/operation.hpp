// One small operation of the program in the batch's terms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ghost/memory.hpp"
#include "mpi/rma/backend/op.hpp"

namespace hob::mpi {

enum class BatchKind : std::uint8_t { get, put, accumulate, fetch };
inline constexpr std::size_t kBatchKinds = 4;

inline BatchKind batch_kind_of(rma::Op::Kind kind) {
  constexpr BatchKind kinds[] = {BatchKind::get,   BatchKind::put,   BatchKind::accumulate,
                                 BatchKind::fetch, BatchKind::fetch, BatchKind::fetch};
  return kinds[static_cast<std::size_t>(kind)];
}
/// What a batch is issued as.
inline rma::Op::Kind op_kind_of(BatchKind kind) {
  constexpr rma::Op::Kind kinds[] = {rma::Op::Kind::get, rma::Op::Kind::put,
                                     rma::Op::Kind::accumulate, rma::Op::Kind::get_accumulate};
  return kinds[static_cast<std::size_t>(kind)];
}

/// The numbers of operation_number() (datatype/elements.hpp).
enum : unsigned {
  kReplace,
  kNoOp,
  kSum,
  kProduct,
  kMin,
  kMax,
  kLogicalAnd,
  kBitAnd,
  kLogicalOr,
  kBitOr,
  kLogicalXor,
  kBitXor
};

/// Bytes of a target, which is where an operation reads or writes. None: not known.
struct TargetRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// An operation on contiguous memory at both ends.
struct SmallOperation {
  BatchKind kind = BatchKind::get;
  int target = 0;
  bool requested = false;  ///< it has a request
  TargetRange range{};
  MPI_Aint disp = 0;                ///< of range.begin - `low`, as the program gave it
  std::int64_t low = 0;             ///< from there to range.begin
  std::byte* place = nullptr;       ///< where the result goes
  const std::byte* data = nullptr;  ///< what goes out; null where MPI_NO_OP says so
  ghost::Element element{};         ///< of accumulates and fetching operations
  unsigned op = 0;                  ///< operation_number()
  MPI_Op mpi_op{};
  bool batchable = false;  ///< it may be batched
};

}  // namespace hob::mpi
