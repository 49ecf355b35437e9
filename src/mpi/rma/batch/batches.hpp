// The open batches of one target, and those that were sent and are not complete.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "batch/burst.hpp"
#include "batch/location_set.hpp"
#include "batch/operation_buffer.hpp"
#include "mpi/rma/batch/operation.hpp"

namespace hob::mpi {

class BatchedGet;

/// One batch that is still open: its operations, and the locations that they touch.
struct OpenBatch {
  std::vector<BatchedGet*> requested;              ///< of its gets; null: issued alone since
  std::unique_ptr<batch::OperationBuffer> buffer;  ///< null: nothing is batched
  std::unique_ptr<batch::LocationSet> locations;
  bool tracked = false;  ///< locations holds all of them; gets are only tracked beside writes
  BatchKind kind = BatchKind::get;
  ghost::Element element{};
  unsigned op = 0;
  MPI_Op mpi_op{};
  std::uint64_t lowest = 0;  ///< the lowest range, and how the program named it
  MPI_Aint lowest_disp = 0;
  std::int64_t lowest_low = 0;
  std::uint64_t born = 0;          ///< ticks
  std::uint64_t waits_before = 0;  ///< batched::served_waits() then
};

/// Accumulates and fetching operations are in one batch after the other: MPI orders them.
inline constexpr std::size_t kGets = 0, kPuts = 1, kAtomics = 2, kSlots = 3;
inline std::size_t slot_of(BatchKind kind) {
  return kind == BatchKind::get ? kGets : kind == BatchKind::put ? kPuts : kAtomics;
}

/// A batch that the library has: its memory is in use.
struct SentBatch {
  std::unique_ptr<batch::OperationBuffer> buffer;
  std::vector<BatchedGet*> requested;
  int error = MPI_SUCCESS;   ///< the library refused it
  bool delivers = false;     ///< what came back lies in the operation buffer
  bool brings = false;       ///< it brings something, wherever it goes
  std::uint64_t held = 0;    ///< bytes of its memory
  std::uint64_t number = 0;  ///< in the order of issue on this window
};

/// What the last operation was that was batched for a target: one more of its kind needs no
/// questions. Of a predefined datatype, which is never freed.
struct AlikeOperations {
  OpenBatch* open = nullptr;  ///< where they are; null: there is no such batch
  bool joins = false;         ///< more of them may come
  BatchKind kind = BatchKind::get;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Count count = 0;
  MPI_Op mpi_op{};
  std::uint64_t bytes = 0;
  std::int64_t unit = 1;    ///< the target's displacement unit
  std::uint64_t shown = 0;  ///< bytes that the target exposes
};

struct BatchTarget {
  std::array<OpenBatch, kSlots> open;
  AlikeOperations alike;
  std::array<batch::Burst, kSlots> bursts;
  /// The least ticks that issuing one operation natively took.
  std::array<std::uint64_t, kSlots> issue{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};
  std::vector<SentBatch> sent;
  bool clean = false;   ///< the library uses none of the program's buffers for this target
  bool brings = false;  ///< a get or a fetching operation went out alone since the last completion
  std::uint64_t epoch = 0;        ///< the epoch in which an operation of this process was accepted
  bool locked = false;            ///< by this process, in that epoch
  std::uint64_t outstanding = 0;  ///< operations given to the library since the last completion
  std::uint64_t held = 0;         ///< bytes of memory of `sent`
  bool reached = false;           ///< the program may load and store its memory: nothing waits
  int error = MPI_SUCCESS;        ///< of a batch; returned by the call that completes it
  bool unreported = false;        ///< no error handler has been called for it
};

/// Operation buffers and sets of locations that are not in use, for the next batches. Not thread
/// safe.
class BatchPool {
 public:
  std::unique_ptr<batch::OperationBuffer> buffer();
  std::unique_ptr<batch::LocationSet> locations();
  void give_back(std::unique_ptr<batch::OperationBuffer> buffer) noexcept;
  void give_back(std::unique_ptr<batch::LocationSet> locations) noexcept;

 private:
  static constexpr std::size_t kKept = 16;
  std::vector<std::unique_ptr<batch::OperationBuffer>> buffers_;
  std::vector<std::unique_ptr<batch::LocationSet>> locations_;
};

}  // namespace hob::mpi
