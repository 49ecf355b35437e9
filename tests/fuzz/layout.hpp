// Random datatypes: a recipe that every rank derives from the same random numbers, the byte layout
// that it stands for (the model's view), and the MPI datatype made from it (MPI's view).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "random.hpp"

namespace fuzz {

/// Basic types. Those from kUnsignedChar on are integers that accumulates may compute with.
enum class Base { kByte, kChar, kDouble, kUnsignedChar, kUint16, kUint32, kUint64 };

MPI_Datatype mpi_type(Base base);
int size_of(Base base);
Base random_base(Random& random);
Base random_integer(Random& random);

class Layout;
using LayoutPtr = std::shared_ptr<const Layout>;

/// One instance of a datatype: where its elements lie, in type-map order.
class Layout {
 public:
  /// A random datatype of exactly `elements` elements of `base`; `plain` keeps it contiguous.
  static LayoutPtr random(Random& random, Base base, int elements, bool plain);

  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  Base base() const { return base_; }
  bool bare() const { return kind_ == Kind::kNamed; }
  int elements() const { return static_cast<int>(offsets_.size()); }
  std::int64_t extent() const { return upper_ - lower_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

  /// Byte offset of every element of `count` instances.
  std::vector<std::int64_t> places(int count) const;

  /// A committed datatype (a predefined one for a bare element); the caller frees it with
  /// `release`.
  MPI_Datatype build() const;
  static void release(MPI_Datatype type, const Layout& layout);

  /// One committed datatype kept as long as the layout; not safe to call from two threads.
  MPI_Datatype kept() const;

 private:
  enum class Kind {
    kNamed,
    kContiguous,
    kVector,
    kHvector,
    kIndexed,
    kHindexed,
    kIndexedBlock,
    kStruct,
    kSubarray,
    kResized,
    kDup
  };

  Layout() = default;
  static std::shared_ptr<Layout> make(Random& random, Base base, int elements, int depth);
  void place_blocks(const std::vector<int>& lengths,
                    const std::vector<std::int64_t>& displacements);

  Kind kind_ = Kind::kNamed;
  Base base_ = Base::kByte;
  std::shared_ptr<const Layout> inner_;
  std::vector<int> lengths_;
  std::vector<std::int64_t> displacements_;  ///< bytes
  int count_ = 0;
  int stride_ = 0;                     ///< inner extents
  int shape_[6] = {0, 0, 0, 0, 0, 0};  ///< subarray: sizes, subsizes, starts
  std::vector<std::int64_t> offsets_;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  mutable MPI_Datatype kept_ = MPI_DATATYPE_NULL;
};

}  // namespace fuzz
