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

/// The element and the operation of an atomic one. False: they are no batch's.
bool describe_element(MPI_Datatype type, const rma::Op& op, SmallOperation& small) {
  const auto element = element_of(op.target_type);
  const auto number = operation_number(op.operation);
  if (!element || !number || type_of(*element) == MPI_DATATYPE_NULL) return false;
  if (type != op.target_type) {
    const auto other = element_of(type);
    if (!other || other->type != element->type) return false;
  }
  if (data_bytes_of(*element) != element->bytes || small.range.bytes % element->bytes != 0)
    return false;
  if (!allowed(*number, class_of(*element), small.kind == BatchKind::fetch)) return false;
  small.element = *element;
  small.op = *number;
  return true;
}

}  // namespace

/// The first byte of `buffer`, whose elements are the target's, or null: then it cannot be in a
/// batch. Where the target's bytes are known, they are filled in nevertheless.
std::byte* Batching::describe(const TypedBuffer& buffer, const rma::Op& op,
                              SmallOperation& small) const {
  if (op.target < 0 || op.target >= window_.size) return nullptr;
  const auto there = contiguous(op.target_type, op.target_count);
  if (!there) return nullptr;
  const auto first = static_cast<std::uint64_t>(
      static_cast<std::int64_t>(op.disp) * units_.of(op.target) + there->low);
  small.range = {first, there->bytes};
  small.disp = op.disp;
  small.low = there->low;
  const auto here = buffer.type == op.target_type && buffer.count == op.target_count
                        ? there
                        : contiguous(buffer.type, buffer.count);
  if (!here || here->bytes != there->bytes) return nullptr;
  if (there->bytes == 0 || there->bytes > tuning::batching::kSmallBytes) return nullptr;
  if (window_.bounded) {
    const std::uint64_t shown = exposed_.of(op.target);
    if (first > shown || there->bytes > shown - first) return nullptr;
  }
  auto* const bytes = static_cast<std::byte*>(buffer.address) + here->low;
  return on_accelerator(bytes) ? nullptr : bytes;
}

/// What an operation is for batches. `batchable`: it may be in one.
SmallOperation Batching::described(const rma::Op& op) const {
  SmallOperation small{.kind = batch_kind_of(op.kind),
                       .target = op.target,
                       .requested = op.request != nullptr,
                       .mpi_op = op.operation};
  std::byte* const first = describe(op.here(), op, small);
  if (!first || op.kind == rma::Op::Kind::compare_and_swap) return small;
  if (op.brings())
    small.place = first;
  else
    small.data = first;
  const bool atomic = small.kind == BatchKind::accumulate || small.kind == BatchKind::fetch;
  if (atomic && !describe_element(op.here().type, op, small)) return small;
  if (small.kind == BatchKind::fetch) {
    if (op.request ||
        (op.kind == rma::Op::Kind::fetch_and_op && small.range.bytes != small.element.bytes))
      return small;
    if (small.op != kNoOp) {
      small.data = describe(op.origin, op, small);
      if (!small.data || !describe_element(op.origin.type, op, small)) return small;
    }
  }
  small.batchable = true;
  return small;
}

}  // namespace hob::mpi
