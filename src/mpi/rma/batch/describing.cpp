// What an operation is, as far as batches are concerned.
#include <new>
#include <optional>

#include "mpi/core/accelerator.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/rma/batch/batching.hpp"

namespace hob::mpi {
namespace {

/// Whether MPI allows the operation on such an element, so that it may be checked later.
bool allowed(unsigned op, ElementClass element, bool fetches) {
  if (op == kReplace) return true;
  if (op == kNoOp) return fetches;
  if (op <= kMax) return element != ElementClass::bytes;
  return op <= kBitXor && element == ElementClass::integer;
}

struct Contiguous {
  std::int64_t low;
  std::uint64_t bytes;
};

/// Elements that are one block of memory.
std::optional<Contiguous> contiguous(MPI_Datatype type, MPI_Count count) {
  if (count <= 0 || type == MPI_DATATYPE_NULL) return std::nullopt;
  const Layout* layout = nullptr;
  try {
    layout = &layout_of(type);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
  if (!layout->usable || !(layout->dense || (count == 1 && layout->blocks.size() == 1)))
    return std::nullopt;
  return Contiguous{layout->low, layout->size * static_cast<std::uint64_t>(count)};
}

}  // namespace

/// False: it is nothing that can be gathered. Where the target's bytes are known, they are filled
/// in nevertheless.
bool Batching::describe(const void* origin, const Ends& ends, MPI_Aint disp,
                        SmallOperation& op) const {
  if (op.target < 0 || op.target >= window_.size) return false;
  const auto there = contiguous(ends.target_type, ends.target_count);
  if (!there) return false;
  const auto first = static_cast<std::uint64_t>(
      static_cast<std::int64_t>(disp) * units_.of(op.target) + there->low);
  op.range = {first, there->bytes};
  op.disp = disp;
  op.low = there->low;
  const auto here = ends.type == ends.target_type && ends.count == ends.target_count
                        ? there
                        : contiguous(ends.type, ends.count);
  if (!here || here->bytes != there->bytes) return false;
  if (there->bytes == 0 || there->bytes > tuning::batching::kSmallBytes) return false;
  if (window_.bounded) {
    const std::uint64_t shown = exposed_.of(op.target);
    if (first > shown || there->bytes > shown - first) return false;
  }
  const auto* bytes = static_cast<const std::byte*>(origin) + here->low;
  if (bytes == nullptr || on_accelerator(bytes)) return false;
  op.data = bytes;
  return true;
}

/// The element and the operation of one that describe() knows.
bool Batching::describe_atomic(const Ends& ends, MPI_Op mpi_op, SmallOperation& op) const {
  const auto element = element_of(ends.target_type);
  const auto number = operation_number(mpi_op);
  if (!element || !number || type_of(*element) == MPI_DATATYPE_NULL) return false;
  if (ends.type != ends.target_type) {
    const auto other = element_of(ends.type);
    if (!other || other->type != element->type) return false;
  }
  if (data_bytes_of(*element) != element->bytes || op.range.bytes % element->bytes != 0)
    return false;
  if (!allowed(*number, class_of(*element), op.kind == BatchKind::fetch)) return false;
  op.element = *element;
  op.op = *number;
  op.mpi_op = mpi_op;
  return true;
}

}  // namespace hob::mpi
