// A batch as one operation: the datatype of its locations.
#pragma once

#include <cstdint>

#include "batch/operation_buffer.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// A committed datatype of the ranges of an operation buffer, in its order, relative to `base`;
/// freed with the object. `element` has `bytes` bytes, of which all ranges are multiples.
class IndexedType {
 public:
  IndexedType(const batch::OperationBuffer& buffer, std::uint64_t base, MPI_Datatype element,
              std::uint32_t bytes);
  ~IndexedType();
  IndexedType(const IndexedType&) = delete;
  IndexedType& operator=(const IndexedType&) = delete;

  /// False: the library could not make it.
  bool good() const { return type_ != MPI_DATATYPE_NULL; }
  MPI_Datatype get() const { return type_; }

  /// Whether this process has made one before.
  static bool any_made();

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The widest type of which all lengths of an operation buffer are multiples.
struct Unit {
  MPI_Datatype type;
  std::uint32_t bytes;
};
Unit widest_unit(const batch::OperationBuffer& buffer);

}  // namespace hob::mpi
