// Flattened datatypes: one object for equal layouts, none taken for another.
#include "mpi/datatype/layouts.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "fake_mpi.hpp"
#include "mpi/core/handle.hpp"

namespace hob::mpi {
namespace {

TEST(Layouts, ANamedTypeIsDense) {
  const Layout& layout = layout_of(MPI_DOUBLE);
  EXPECT_TRUE(layout.usable && layout.dense);
  EXPECT_EQ(layout.size, 8u);
  EXPECT_EQ(layout.id, 0u);
}

TEST(Layouts, AVectorHasItsBlocks) {
  MPI_Datatype type = fake::vector_type(3, 2, 5, MPI_INT);
  const Layout& layout = layout_of(type);
  EXPECT_EQ(layout.blocks, (std::vector<Block>{{0, 8}, {20, 8}, {40, 8}}));
  EXPECT_EQ(layout.size, 24u);
  EXPECT_EQ(layout.extent, 48);
  EXPECT_FALSE(layout.dense);
  MPI_Type_free(&type);
}

TEST(Layouts, EqualLayoutsAreOneObject) {
  MPI_Datatype one = fake::vector_type(4, 1, 3, MPI_INT),
               other = fake::vector_type(4, 1, 3, MPI_INT);
  EXPECT_NE(one, other);
  EXPECT_EQ(&layout_of(one), &layout_of(other));
  MPI_Type_free(&one);
  MPI_Type_free(&other);
}

TEST(Layouts, AHandleSeenBeforeCostsNoCall) {
  MPI_Datatype type = fake::vector_type(4, 1, 7, MPI_INT);
  const Layout& layout = layout_of(type);
  fake::reset();
  EXPECT_EQ(&layout_of(type), &layout);
  EXPECT_TRUE(fake::order().empty());
  MPI_Type_free(&type);
}

/// Types until two of them have their places in common with the first.
std::vector<MPI_Datatype> types_of_one_hash(std::size_t wanted) {
  std::vector<MPI_Datatype> found, others;
  while (found.size() < wanted) {
    const MPI_Datatype type =
        fake::vector_type(3, 1, 13 + static_cast<int>(others.size()), MPI_INT);
    const auto hash = [](MPI_Datatype each) { return handle_hash(handle_bits(each), 8); };
    if (found.empty() || hash(type) == hash(found[0]))
      found.push_back(type);
    else
      others.push_back(type);
  }
  for (MPI_Datatype& type : others) MPI_Type_free(&type);
  return found;
}

TEST(Layouts, TwoTypesOfOneHashCostNoCallInTurn) {
  std::vector<MPI_Datatype> types = types_of_one_hash(2);
  for (const MPI_Datatype type : types) layout_of(type);
  fake::reset();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(layout_of(types[0]).size, 12u);
    EXPECT_EQ(layout_of(types[1]).size, 12u);
    EXPECT_NE(&layout_of(types[0]), &layout_of(types[1]));
  }
  EXPECT_TRUE(fake::order().empty());
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
}

TEST(Layouts, AFreedHandleIsForgotten) {
  MPI_Datatype type = fake::vector_type(2, 1, 9, MPI_INT);
  const MPI_Datatype handle = type;
  layout_of(type);
  MPI_Type_free(&type);
  fake::reset();
  layout_of(handle);  // the library may have given it to another type
  EXPECT_GT(fake::calls("Type_get_envelope"), 0u);
  forget_layout(handle);
}

TEST(Layouts, ATypeThatTheLibraryDoesNotExplainIsLeftAlone) {
  MPI_Datatype type = fake::vector_type(2, 1, 11, MPI_INT);
  fake::fail("Type_get_contents", MPI_ERR_TYPE);
  EXPECT_FALSE(layout_of(type).usable);
  fake::reset();
  MPI_Type_free(&type);
}

TEST(Layouts, PackAndUnpackAreEachOthersReverse) {
  MPI_Datatype type = fake::vector_type(5, 3, 4, MPI_INT);
  const Layout& layout = layout_of(type);
  std::vector<int> from(40), to(40, -1);
  std::iota(from.begin(), from.end(), 0);
  std::vector<std::byte> packed(2 * layout.size);
  pack(layout, from.data(), packed.data(), packed.size());
  unpack(layout, to.data(), packed.data(), packed.size());
  // In pieces of any size, too.
  std::vector<int> pieces(40, -1);
  for (std::uint64_t at = 0; at < packed.size();) {
    const std::uint64_t bytes = std::min<std::uint64_t>(7, packed.size() - at);
    unpack(layout, pieces.data(), packed.data() + at, bytes, at);
    at += bytes;
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    EXPECT_TRUE(to[i] == from[i] || to[i] == -1) << i;
    EXPECT_EQ(to[i], pieces[i]);
  }
  EXPECT_EQ(std::count(to.begin(), to.end(), -1), 40 - 30);
  MPI_Type_free(&type);
}

}  // namespace
}  // namespace hob::mpi
