// Elements of accumulates, and what is done to them.
#include "mpi/datatype/elements.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "fake_mpi.hpp"

namespace hob::mpi {
namespace {

/// Adds as a library does whose long double, of 16 bytes, is loaded with aligned instructions.
TEST(Elements, WideOnesAreAlignedForTheLibrary) {
  const auto element = element_of(MPI_LONG_DOUBLE);
  const auto sum = operation_number(MPI_SUM);
  ASSERT_TRUE(element && sum);
  constexpr std::size_t kCount = 300;  // more than fits at once
  alignas(16) std::array<std::byte, kCount * sizeof(long double) + 8> message{};
  alignas(16) std::array<long double, kCount> memory;
  std::iota(memory.begin(), memory.end(), 0.0L);
  const auto before = memory;
  std::memcpy(message.data() + 8, memory.data(), sizeof memory);
  fake::reset();
  combine(message.data() + 8, memory.data(), kCount, element->type, *sum);
  EXPECT_EQ(fake::misaligned(), 0u);
  EXPECT_GT(fake::calls("Reduce_local"), 0u);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(memory[i], 2 * before[i]) << i;
}

TEST(Elements, AlignedOnesGoToTheLibraryAtOnce) {
  alignas(16) std::array<long double, 300> from{}, memory{};
  const auto element = element_of(MPI_LONG_DOUBLE);
  fake::reset();
  combine(from.data(), memory.data(), from.size(), element->type, *operation_number(MPI_SUM));
  EXPECT_EQ(fake::calls("Reduce_local"), 1u);
}

}  // namespace
}  // namespace hob::mpi
