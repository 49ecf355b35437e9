// What Hob takes for each rank, window and get under way: 100,000 ranks and 1,000 windows have to
// fit.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "base/per_rank.hpp"
#include "fake_mpi.hpp"
#include "gets/gets_under_way.hpp"
#include "gets/target_state.hpp"
#include "mpi/rma/backend/displacement_units.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/backend/numbers_of_ranks.hpp"
#include "mpi/rma/ghost/targets.hpp"
#include "mpi/rma/window.hpp"
#include "validation/changes.hpp"

namespace hob::mpi {
namespace {

constexpr std::size_t kRanks = 100'000, kWindows = 1'000;
constexpr std::size_t kLimit = std::size_t{64} << 20;

TEST(Sizes, OfWhatThereAreManyOf) {
  EXPECT_LE(sizeof(gets::PendingGet), 136u) << "for each get under way";
  EXPECT_LE(sizeof(gets::TargetState), 384u) << "for each target that a window was used for";
  EXPECT_LE(sizeof(ghost::Peer), 160u) << "likewise, with ghosts";
  EXPECT_LE(sizeof(GhostTargets), 256u) << "for each window";
  EXPECT_LE(sizeof(Window), 512u) << "for each window";
  EXPECT_LE(sizeof(DisplacementUnits) + sizeof(ExposedSizes), 80u) << "for each window";
  EXPECT_EQ(sizeof(validation::Changes::Large), 512u) << "a message";
}

/// Equal numbers; equal blocks but for the first and the last rank's; n / p and n / p + 1.
std::vector<std::vector<std::uint64_t>> usual_sizes() {
  std::vector<std::uint64_t> equal(kRanks, 4096), ends(equal), blocks(equal);
  ends.front() = 0;
  ends.back() = 77;
  for (std::size_t rank = 0; rank < kRanks / 3; ++rank) blocks[rank] = 4104;
  return {equal, ends, blocks};
}

TEST(Sizes, AThousandGhostWindowsOfAHundredThousandRanksFit) {
  auto members = std::make_shared<GhostMembers>();
  members->ranks.resize(kRanks);
  std::iota(members->ranks.begin(), members->ranks.end(), 0);
  const auto sizes = usual_sizes();
  std::size_t bytes = members->ranks.capacity() * sizeof(int);
  std::vector<GhostTargets> windows;
  windows.reserve(kWindows);
  for (std::size_t window = 0; window < kWindows; ++window) {
    const PerRank each(sizes[window % sizes.size()]);
    windows.emplace_back(ExposedMemory{.headers = each, .sizes = each, .serial = window}, members);
    bytes += windows.back().memory_bytes();
    EXPECT_EQ(windows.back().find(static_cast<int>(kRanks) - 1), nullptr);
  }
  EXPECT_LT(bytes, kLimit / 4) << "the rest is for targets that are used";
  testing::Test::RecordProperty("bytes", std::to_string(bytes));
}

TEST(Sizes, AThousandNativeWindowsOfAHundredThousandRanksFit) {
  const auto sizes = usual_sizes();
  std::size_t bytes = 0;
  for (std::size_t window = 0; window < kWindows; ++window) {
    ExposedSizes exposed;
    exposed.assign(PerRank(sizes[window % sizes.size()]), PerRank(kAllReadable));
    const ExposedSizes batches = exposed;
    EXPECT_EQ(batches.of(0), sizes[window % sizes.size()][0]);
    bytes += exposed.memory_bytes();
  }
  EXPECT_LT(bytes, kLimit / 64);
}

TEST(Sizes, ANodeKeepsItsNumbersOfRanksOnce) {
  std::vector<std::uint64_t> each(kRanks);
  std::iota(each.begin(), each.end(), 0);
  EXPECT_GT(numbers_of_ranks(each, MPI_COMM_WORLD).memory_bytes(), kRanks) << "alone on its node";
  fake::ranks_of_node(2);
  const PerRank shared = numbers_of_ranks(each, MPI_COMM_WORLD);
  fake::ranks_of_node(1);
  for (std::size_t rank = 0; rank < kRanks; ++rank)
    ASSERT_EQ(shared.of(static_cast<int>(rank)), each[rank]);
  EXPECT_LT(shared.memory_bytes(), 200u);
}

/// MPI_Win_create_c takes any.
TEST(Sizes, DisplacementUnitsAreNotCut) {
  constexpr std::int64_t kUnit = (std::int64_t{5} << 32) + 8;
  DisplacementUnits units;
  WindowAnswers answers;
  ExposedSizes exposed;
  units.exchange(kUnit, answers, exposed, MPI_COMM_WORLD);
  EXPECT_EQ(units.of(1), kUnit);
}

TEST(Sizes, AFewRanksAskNobodyWhereTheyAre) {
  fake::ranks_of_node(2);
  fake::reset();
  const std::vector<std::uint64_t> each{1, 2, 3, 4};
  EXPECT_EQ(numbers_of_ranks(each, MPI_COMM_WORLD).of(2), 3u);
  EXPECT_EQ(fake::calls("Comm_split_type"), 0u);
  fake::ranks_of_node(1);
}

}  // namespace
}  // namespace hob::mpi
