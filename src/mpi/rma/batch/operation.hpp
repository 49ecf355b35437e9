// One small operation of the program in the batch's terms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ghost/memory.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

enum class BatchKind : std::uint8_t { get, put, accumulate, fetch };
inline constexpr std::size_t kBatchKinds = 4;

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

/// Bytes of a target, which is where an operation reads or writes. None: nobody knows.
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
  MPI_Op mpi_op = MPI_OP_NULL;
  bool gathers = false;  ///< it may be gathered
};

}  // namespace hob::mpi
