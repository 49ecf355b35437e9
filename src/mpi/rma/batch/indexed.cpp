#include "mpi/rma/batch/indexed.hpp"

#include "mpi/datatype/freeing.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/batch/state.hpp"

namespace hob::mpi {
bool IndexedType::any_made() { return all_batches.type_made.load(std::memory_order_relaxed); }

IndexedType::IndexedType(const batch::OperationBuffer& buffer, std::uint64_t base,
                         MPI_Datatype element, std::uint32_t bytes) {
  const auto count = static_cast<int>(buffer.operations());
  std::vector<MPI_Aint> displacements;
  displacements.reserve(buffer.operations());
  for (const std::uint64_t begin : buffer.begins())
    displacements.push_back(static_cast<MPI_Aint>(begin - base));
  MPI_Datatype made = MPI_DATATYPE_NULL;
  int result = MPI_SUCCESS;
  if (buffer.uniform()) {
    result = real::Type_create_hindexed_block(count, static_cast<int>(buffer.length_of(0) / bytes),
                                              displacements.data(), element, &made);
  } else {
    std::vector<int> lengths;
    lengths.reserve(buffer.operations());
    for (const std::uint32_t length : buffer.lengths())
      lengths.push_back(static_cast<int>(length / bytes));
    result =
        real::Type_create_hindexed(count, lengths.data(), displacements.data(), element, &made);
  }
  if (result != MPI_SUCCESS) return;
  if (real::Type_commit(&made) != MPI_SUCCESS) {
    free_type(&made);
    return;
  }
  type_ = made;
  all_batches.type_made.store(true, std::memory_order_relaxed);
}

IndexedType::~IndexedType() {
  if (good()) free_type(&type_);
}

Unit widest_unit(const batch::OperationBuffer& buffer) {
  std::uint32_t all = 0;
  if (buffer.uniform())
    all = buffer.length_of(0);
  else
    for (const std::uint32_t length : buffer.lengths()) all |= length;
  if (all % sizeof(std::int64_t) == 0) return {MPI_INT64_T, sizeof(std::int64_t)};
  if (all % sizeof(std::int32_t) == 0) return {MPI_INT32_T, sizeof(std::int32_t)};
  return {MPI_BYTE, 1};
}

}  // namespace hob::mpi
