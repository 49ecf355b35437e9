// The library's own settings, and what Hob concludes from them.
#include "mpi/core/control_variable.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "fake_mpi.hpp"
#include "mpi/workarounds/long_replies.hpp"

namespace hob::mpi {
namespace {

TEST(ControlVariables, AreReadAndWritten) {
  const int open = fake::open_tools();
  fake::control_variable("some_variable", 7);
  {
    ControlVariable variable("some_variable");
    EXPECT_EQ(variable.value(), 7);
    variable.set(8);
    EXPECT_EQ(fake::control_variable("some_variable"), 8);
    ControlVariable none("no_such_variable");
    EXPECT_FALSE(none.value());
    none.set(1);
  }
  EXPECT_EQ(fake::open_tools(), open);
}

TEST(LongReplies, AreThoseOfMessagesBetweenNodes) {
  constexpr char kName[] = "MPIR_CVAR_CH4_OFI_ENABLE_RMA";
  constexpr auto kNoLimit = std::numeric_limits<std::uint64_t>::max();
  fake::control_variable(kName, -1);
  EXPECT_EQ(longest_unbroken_get(), kNoLimit);
  fake::control_variable(kName, 1);
  EXPECT_EQ(longest_unbroken_get(), kNoLimit);
  fake::control_variable(kName, 0);
  EXPECT_LE(longest_unbroken_get(), 16344U) << "MPICH 5.0.2 answers so many bytes in one piece";
  EXPECT_GE(longest_unbroken_get(), 8192U) << "a get may lie in two blocks";
  fake::control_variable(kName, -1);
}

}  // namespace
}  // namespace hob::mpi
