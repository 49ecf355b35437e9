#include "mpi/rma/ghost/types.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <unordered_map>

#include "mpi/core/handle.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {
namespace {

// The order is the number; it is the same in every process, which all run the same library.
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

constexpr std::size_t unknown_type = 255;  // good for replacing only

struct Predefined {
  std::vector<MPI_Datatype> types = predefined_types();
  std::vector<std::uint32_t> extents;
  std::unordered_map<std::uint64_t, unsigned> numbers;

  Predefined() {
    for (std::size_t i = 0; i < types.size(); ++i) {
      MPI_Aint lower = 0;
      MPI_Aint extent = 0;
      if (types[i] != MPI_DATATYPE_NULL) real::Type_get_extent(types[i], &lower, &extent);
      extents.push_back(static_cast<std::uint32_t>(extent));
      if (types[i] != MPI_DATATYPE_NULL)
        numbers.emplace(handle_bits(types[i]), static_cast<unsigned>(i));
    }
  }
};

const Predefined& predefined() {
  static const auto* all = new Predefined;
  return *all;
}

std::vector<MPI_Op> operations() {
  return {MPI_REPLACE, MPI_NO_OP, MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,
          MPI_BAND,    MPI_LOR,   MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
}

struct Inner {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<MPI_Datatype> types;

  explicit Inner(MPI_Datatype type) {
#if HOB_HAS_LARGE_COUNT
    static const bool large = real::find("PMPI_Type_get_envelope_c") != nullptr;
    if (large) {
      MPI_Count n = 0;
      MPI_Count a = 0;
      MPI_Count c = 0;
      MPI_Count t = 0;
      real::Type_get_envelope_c(type, &n, &a, &c, &t, &combiner);
      if (combiner == MPI_COMBINER_NAMED) return;
      std::vector<int> ints(static_cast<std::size_t>(n));
      std::vector<MPI_Aint> aints(static_cast<std::size_t>(a));
      std::vector<MPI_Count> counts(static_cast<std::size_t>(c));
      types.resize(static_cast<std::size_t>(t));
      if (t == 0) return;
      real::Type_get_contents_c(type, n, a, c, t, ints.data(), aints.data(), counts.data(),
                                types.data());
      return;
    }
#endif
    int n = 0;
    int a = 0;
    int t = 0;
    real::Type_get_envelope(type, &n, &a, &t, &combiner);
    if (combiner == MPI_COMBINER_NAMED) return;
    std::vector<int> ints(static_cast<std::size_t>(n));
    std::vector<MPI_Aint> aints(static_cast<std::size_t>(a));
    types.resize(static_cast<std::size_t>(t));
    if (t == 0) return;
    real::Type_get_contents(type, n, a, t, ints.data(), aints.data(), types.data());
  }
  ~Inner() {
    for (MPI_Datatype& type : types) {
      if (predefined().numbers.count(handle_bits(type)) != 0) continue;
      const Inner inner(type);
      if (inner.combiner == MPI_COMBINER_NAMED || inner.types.empty()) continue;
      real::Type_free(&type);
    }
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;
};

std::optional<ghost::Element> named_element(MPI_Datatype type) {
  const Predefined& all = predefined();
  const auto found = all.numbers.find(handle_bits(type));
  if (found != all.numbers.end()) return ghost::Element{found->second, all.extents[found->second]};
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  real::Type_get_extent(type, &lower, &extent);
  if (extent <= 0) return std::nullopt;
  return ghost::Element{unknown_type, static_cast<std::uint32_t>(extent)};
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
  const Inner inner(type);
  switch (inner.combiner) {
    case MPI_COMBINER_NAMED:
      return named_element(type);
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
      return fortran_element(type, inner.combiner);
    default:
      break;
  }
  std::optional<ghost::Element> element;
  for (const MPI_Datatype each : inner.types) {
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
    Slot& slot = slots_[home(type)];
    if (!slot.known || slot.bits != handle_bits(type))
      slot = {true, handle_bits(type), find_element(type)};
    return slot.element;
  }
  void forget(MPI_Datatype type) {
    const std::lock_guard guard(lock_);
    Slot& slot = slots_[home(type)];
    if (slot.bits == handle_bits(type)) slot.known = false;
  }

 private:
  struct Slot {
    bool known = false;
    std::uint64_t bits = 0;
    std::optional<ghost::Element> element;
  };
  static std::size_t home(MPI_Datatype type) {
    return (handle_bits(type) * 0x9E3779B97F4A7C15U) >> 56;
  }
  Spin lock_;
  std::array<Slot, 256> slots_;
};

Elements& elements() {
  static auto* all = new Elements;
  return *all;
}

// For types that layout_of() leaves alone: packing tells where each byte comes from. Four passes
// give the four bytes of every offset.
bool discover(MPI_Datatype type, ghost::Layout& layout) {
  constexpr MPI_Aint most = MPI_Aint{1} << 28;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  int size = 0;
  real::Type_get_true_extent(type, &lower, &extent);
  real::Type_size(type, &size);
  if (extent < 0 || extent > most || size == MPI_UNDEFINED) return false;
  std::vector<std::byte> memory(static_cast<std::size_t>(extent));
  std::vector<std::byte> packed(static_cast<std::size_t>(size) + 64);
  std::vector<std::uint32_t> offsets(static_cast<std::size_t>(size), 0);
  for (unsigned pass = 0; pass < 4; ++pass) {
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<std::byte>(i >> (8 * pass));
    int position = 0;
    if (real::Pack(memory.data() - lower, 1, type, packed.data(), static_cast<int>(packed.size()),
                   &position, MPI_COMM_SELF) != MPI_SUCCESS ||
        position != size) {
      return false;
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] |= std::to_integer<std::uint32_t>(packed[i]) << (8 * pass);
    }
  }
  for (const std::uint32_t offset : offsets)
    ghost::append_block(layout.blocks, {lower + offset, 1});
  layout.size = static_cast<std::uint64_t>(size);
  real::Type_get_extent(type, &lower, &extent);
  layout.extent = extent;
  return true;
}

}  // namespace

std::optional<unsigned> operation_number(MPI_Op op) {
  static const auto* all = new std::vector<MPI_Op>(operations());
  const auto found = std::find(all->begin(), all->end(), op);
  if (found == all->end()) return std::nullopt;
  return static_cast<unsigned>(found - all->begin());
}

std::optional<ghost::Element> element_of(MPI_Datatype type) { return elements().get(type); }

bool combines(ghost::Element element, unsigned operation) {
  return element.type != unknown_type || operation == ghost::operation_replace ||
         operation == ghost::operation_no_op;
}

void forget_element(MPI_Datatype type) { elements().forget(type); }

bool data_blocks(MPI_Datatype type, MPI_Count count, std::int64_t start,
                 std::vector<ghost::Block>& blocks) {
  blocks.clear();
  if (count <= 0) return true;
  const Layout& layout = layout_of(type);
  if (layout.usable) {
    if (layout.size == 0) return true;
    if (layout.dense) {
      blocks.push_back({start + layout.low, layout.size * static_cast<std::uint64_t>(count)});
      return true;
    }
    for (MPI_Count i = 0; i < count; ++i) {
      for (const Block& block : layout.blocks) {
        ghost::append_block(blocks, {start + i * layout.extent + block.offset, block.bytes});
      }
    }
    return true;
  }
  ghost::Layout found;
  if (!discover(type, found)) return false;
  blocks = ghost::expand(found, static_cast<std::uint64_t>(count), start);
  return true;
}

bool element_blocks(MPI_Datatype type, MPI_Count count, ghost::Element element, std::int64_t start,
                    std::vector<ghost::Block>& blocks) {
  if (!data_blocks(type, count, start, blocks)) return false;
  if (element.type == unknown_type) return true;
  int size = 0;
  real::Type_size(predefined().types[element.type], &size);
  if (static_cast<std::uint32_t>(size) == element.bytes) return true;
  // A type with padding: one block for each element, from its first data byte.
  std::vector<ghost::Block> data;
  data.swap(blocks);
  std::uint64_t missing = 0;  // data bytes of the element that has begun
  for (ghost::Block block : data) {
    while (block.length > 0) {
      if (missing == 0) {
        ghost::append_block(blocks, {block.offset, element.bytes});
        missing = static_cast<std::uint64_t>(size);
      }
      const std::uint64_t take = std::min(missing, block.length);
      missing -= take;
      block.offset += static_cast<std::int64_t>(take);
      block.length -= take;
    }
  }
  return true;
}

namespace {

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
  static const MPI_Op* ops = (new std::vector<MPI_Op>(operations()))->data();
  // The commonest sums without the way into the MPI library.
  if (operation == 2 && count < 64 && type < predefined().types.size()) {
    const MPI_Datatype which = predefined().types[type];
    if (which == MPI_DOUBLE) return void(add_numbers<double>(in, inout, count));
    if (which == MPI_INT) return void(add_numbers<std::uint32_t>(in, inout, count));
    if (which == MPI_LONG) return void(add_numbers<std::uint64_t>(in, inout, count));
  }
  if (type >= predefined().types.size()) return;  // nobody who asked combines() sends it
  real::Reduce_local(in, inout, static_cast<int>(count), predefined().types[type], ops[operation]);
}

}  // namespace hob::mpi
