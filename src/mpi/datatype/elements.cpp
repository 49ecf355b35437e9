#include "mpi/datatype/elements.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "base/lasting.hpp"
#include "base/two_ways.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/datatype/contents.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {
namespace {

// The order is the number; it is the same in every process, which all run the same library.
// Long: one table.
std::vector<MPI_Datatype> predefined_types() {
  return {MPI_CHAR,
          MPI_SIGNED_CHAR,
          MPI_UNSIGNED_CHAR,
          MPI_BYTE,
          MPI_WCHAR,
          MPI_SHORT,
          MPI_UNSIGNED_SHORT,
          MPI_INT,
          MPI_UNSIGNED,
          MPI_LONG,
          MPI_UNSIGNED_LONG,
          MPI_LONG_LONG,
          MPI_UNSIGNED_LONG_LONG,
          MPI_FLOAT,
          MPI_DOUBLE,
          MPI_LONG_DOUBLE,
          MPI_INT8_T,
          MPI_INT16_T,
          MPI_INT32_T,
          MPI_INT64_T,
          MPI_UINT8_T,
          MPI_UINT16_T,
          MPI_UINT32_T,
          MPI_UINT64_T,
          MPI_C_BOOL,
          MPI_C_FLOAT_COMPLEX,
          MPI_C_DOUBLE_COMPLEX,
          MPI_C_LONG_DOUBLE_COMPLEX,
          MPI_AINT,
          MPI_OFFSET,
          MPI_COUNT,
          MPI_FLOAT_INT,
          MPI_DOUBLE_INT,
          MPI_LONG_INT,
          MPI_2INT,
          MPI_SHORT_INT,
          MPI_LONG_DOUBLE_INT,
          MPI_CHARACTER,
          MPI_LOGICAL,
          MPI_INTEGER,
          MPI_REAL,
          MPI_DOUBLE_PRECISION,
          MPI_COMPLEX,
          MPI_DOUBLE_COMPLEX,
          MPI_2INTEGER,
          MPI_2REAL,
          MPI_2DOUBLE_PRECISION,
          MPI_INTEGER1,
          MPI_INTEGER2,
          MPI_INTEGER4,
          MPI_INTEGER8,
          MPI_REAL4,
          MPI_REAL8,
          MPI_COMPLEX8,
          MPI_COMPLEX16,
          MPI_CXX_BOOL,
          MPI_CXX_FLOAT_COMPLEX,
          MPI_CXX_DOUBLE_COMPLEX,
          MPI_CXX_LONG_DOUBLE_COMPLEX,
          MPI_REAL16,
          MPI_COMPLEX32};
}

// Of types that are not in the table: good for replacing only.
constexpr unsigned kUnknownType = 255;
constexpr unsigned kSum = 2;  // its number

struct Predefined {
  std::vector<MPI_Datatype> types = predefined_types();
  std::vector<std::uint32_t> extents;
  std::vector<std::uint32_t> sizes;
  std::unordered_map<std::uint64_t, unsigned> numbers;

  Predefined() {
    for (std::size_t i = 0; i < types.size(); ++i) {
      MPI_Aint lower = 0;
      MPI_Aint extent = 0;
      int size = 0;
      if (types[i] != MPI_DATATYPE_NULL) {
        real::Type_get_extent(types[i], &lower, &extent);
        real::Type_size(types[i], &size);
        numbers.emplace(handle_bits(types[i]), static_cast<unsigned>(i));
      }
      extents.push_back(static_cast<std::uint32_t>(extent));
      sizes.push_back(static_cast<std::uint32_t>(size));
    }
  }
};

const Predefined& predefined() { return lasting<Predefined>(); }

std::vector<MPI_Op> operations() {
  return {MPI_REPLACE, MPI_NO_OP, MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,
          MPI_BAND,    MPI_LOR,   MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
}

std::optional<ghost::Element> named_element(MPI_Datatype type) {
  const Predefined& all = predefined();
  const auto found = all.numbers.find(handle_bits(type));
  if (found != all.numbers.end()) return ghost::Element{found->second, all.extents[found->second]};
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  real::Type_get_extent(type, &lower, &extent);
  if (extent <= 0) return std::nullopt;
  return ghost::Element{kUnknownType, static_cast<std::uint32_t>(extent)};
}

ghost::Element numbered(MPI_Datatype type) { return *named_element(type); }

// MPI_Type_create_f90_*: the C type of the same size.
std::optional<ghost::Element> fortran_element(MPI_Datatype type, int combiner) {
  int size = 0;
  real::Type_size(type, &size);
  if (combiner == MPI_COMBINER_F90_REAL) {
    if (size == sizeof(float)) return numbered(MPI_FLOAT);
    return numbered(size == sizeof(double) ? MPI_DOUBLE : MPI_LONG_DOUBLE);
  }
  if (combiner == MPI_COMBINER_F90_COMPLEX) {
    if (size == 2 * sizeof(float)) return numbered(MPI_C_FLOAT_COMPLEX);
    return numbered(size == 2 * sizeof(double) ? MPI_C_DOUBLE_COMPLEX : MPI_C_LONG_DOUBLE_COMPLEX);
  }
  switch (size) {
    case 1:
      return numbered(MPI_INT8_T);
    case 2:
      return numbered(MPI_INT16_T);
    case 4:
      return numbered(MPI_INT32_T);
    case 8:
      return numbered(MPI_INT64_T);
    default:
      return std::nullopt;
  }
}

std::optional<ghost::Element> find_element(MPI_Datatype type) {
  if (predefined().numbers.count(handle_bits(type)) != 0) return named_element(type);
  const TypeContents contents(type);
  if (!contents.good) return std::nullopt;
  switch (contents.combiner) {
    case MPI_COMBINER_NAMED:
      return named_element(type);
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
      return fortran_element(type, contents.combiner);
    default:
      break;
  }
  std::optional<ghost::Element> element;
  for (const MPI_Datatype each : contents.types) {
    const auto next = find_element(each);
    if (!next) return std::nullopt;
    if (element && (element->type != next->type || element->bytes != next->bytes))
      return std::nullopt;
    element = next;
  }
  return element;
}

class Elements {
 public:
  std::optional<ghost::Element> get(MPI_Datatype type) {
    const std::lock_guard guard(lock_);
    if (const Slot* slot = slot_of(type)) return slot->element;
    return slots_.put(home(type), {true, handle_bits(type), find_element(type)}).element;
  }
  void forget(MPI_Datatype type) {
    const std::lock_guard guard(lock_);
    if (Slot* slot = slot_of(type)) slot->known = false;
  }
  void forget_all() {
    const std::lock_guard guard(lock_);
    slots_ = {};
  }

 private:
  struct Slot {
    bool known = false;
    std::uint64_t bits = 0;
    std::optional<ghost::Element> element;
  };
  static std::size_t home(MPI_Datatype type) { return handle_hash(handle_bits(type), 7); }
  Slot* slot_of(MPI_Datatype type) {
    return slots_.find(home(type), [bits = handle_bits(type)](const Slot& slot) {
      return slot.known && slot.bits == bits;
    });
  }
  Spin lock_;
  TwoWays<Slot, 128> slots_;
};

Elements& elements() { return lasting<Elements>(); }

}  // namespace

std::optional<unsigned> operation_number(MPI_Op op) {
  static const auto* all = new std::vector<MPI_Op>(operations());
  const auto found = std::find(all->begin(), all->end(), op);
  if (found == all->end()) return std::nullopt;
  return static_cast<unsigned>(found - all->begin());
}

MPI_Datatype type_of(ghost::Element element) {
  return element.type < predefined().types.size() ? predefined().types[element.type]
                                                  : MPI_DATATYPE_NULL;
}

ElementClass class_of(ghost::Element element) {
  static const auto* const classes = [] {
    const std::vector<MPI_Datatype> integers = {MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR,
                                                MPI_SHORT,       MPI_UNSIGNED_SHORT,
                                                MPI_INT,         MPI_UNSIGNED,
                                                MPI_LONG,        MPI_UNSIGNED_LONG,
                                                MPI_LONG_LONG,   MPI_UNSIGNED_LONG_LONG,
                                                MPI_INT8_T,      MPI_INT16_T,
                                                MPI_INT32_T,     MPI_INT64_T,
                                                MPI_UINT8_T,     MPI_UINT16_T,
                                                MPI_UINT32_T,    MPI_UINT64_T};
    auto* result = new std::vector<ElementClass>;
    for (const MPI_Datatype type : predefined().types) {
      const bool integer = std::find(integers.begin(), integers.end(), type) != integers.end();
      const bool floating = type == MPI_FLOAT || type == MPI_DOUBLE;
      result->push_back(integer    ? ElementClass::integer
                        : floating ? ElementClass::floating
                                   : ElementClass::bytes);
    }
    return result;
  }();
  return element.type < classes->size() ? (*classes)[element.type] : ElementClass::bytes;
}

std::uint32_t data_bytes_of(ghost::Element element) {
  return element.type == kUnknownType ? element.bytes : predefined().sizes[element.type];
}

std::optional<ghost::Element> element_of(MPI_Datatype type) { return elements().get(type); }

bool combines(ghost::Element element, unsigned operation) {
  return element.type != kUnknownType || operation == ghost::kOperationReplace ||
         operation == ghost::kOperationNoOp;
}

void forget_element(MPI_Datatype type) { elements().forget(type); }
void forget_elements() { elements().forget_all(); }

namespace {

/// What the widest predefined types must be aligned to, bytes.
constexpr std::size_t kWidest = 16;

template <class Number>
bool add_numbers(const void* in, void* inout, std::size_t count) {
  const auto* from = static_cast<const Number*>(in);
  auto* to = static_cast<Number*>(inout);
  for (std::size_t i = 0; i < count; ++i) {
    Number a;
    Number b;
    std::memcpy(&a, from + i, sizeof a);
    std::memcpy(&b, to + i, sizeof b);
    b = static_cast<Number>(b + a);
    std::memcpy(to + i, &b, sizeof b);
  }
  return true;
}

}  // namespace

void combine(const void* in, void* inout, std::size_t count, unsigned type, unsigned operation) {
  static const auto& ops = *new std::vector<MPI_Op>(operations());
  if (type >= predefined().types.size()) return;  // no caller that asked combines() sends it
  const MPI_Datatype which = predefined().types[type];
  // The commonest sums without the way into the MPI library.
  if (operation == kSum && count < 64) {
    if (which == MPI_DOUBLE) return void(add_numbers<double>(in, inout, count));
    if (which == MPI_INT) return void(add_numbers<std::uint32_t>(in, inout, count));
    if (which == MPI_LONG) return void(add_numbers<std::uint64_t>(in, inout, count));
  }
  // Data of a message begin at a multiple of 8; a library compiled for quadruple precision
  // (MPI_REAL16) loads from multiples of 16.
  const std::size_t extent = predefined().extents[type];
  if (extent < kWidest || reinterpret_cast<std::uintptr_t>(in) % kWidest == 0)
    return void(real::Reduce_local(in, inout, static_cast<int>(count), which, ops[operation]));
  alignas(kWidest) std::array<std::byte, 128 * kWidest> aligned;
  const std::size_t at_once = std::max<std::size_t>(aligned.size() / extent, 1);
  for (std::size_t done = 0; done < count; done += at_once) {
    const std::size_t now = std::min(at_once, count - done);
    const std::size_t bytes = (now - 1) * extent + predefined().sizes[type];
    std::memcpy(aligned.data(), static_cast<const std::byte*>(in) + done * extent, bytes);
    real::Reduce_local(aligned.data(), static_cast<std::byte*>(inout) + done * extent,
                       static_cast<int>(now), which, ops[operation]);
  }
}

}  // namespace hob::mpi
