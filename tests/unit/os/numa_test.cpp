#include "os/numa.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace hob::os {
namespace {

using Numbers = std::vector<int>;
using Domains = std::vector<Numbers>;

TEST(Numa, ListsAreThoseOfTheKernel) {
  EXPECT_EQ(numbers_in("0"), Numbers({0}));
  EXPECT_EQ(numbers_in("0-2,7,9-10"), Numbers({0, 1, 2, 7, 9, 10}));
  for (const char* none :
       {"", ",", "a", "-1", "0-", "3-1", "0-1x", "1 2", "0-99999999", "99999999999"})
    EXPECT_TRUE(numbers_in(none).empty()) << none;
}

class NumaFolder : public testing::Test {
 protected:
  NumaFolder() {
    std::string pattern = testing::TempDir() + "hob_numa_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~NumaFolder() override { std::filesystem::remove_all(folder_); }
  void says(const std::string& file, const std::string& line) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + file).parent_path());
    std::ofstream(folder_ + "/" + file) << line << '\n';
  }
  std::string folder_;
};

TEST_F(NumaFolder, DomainsHaveTheirProcessors) {
  says("online", "0-1");
  says("node0/cpulist", "0-1,4-5");
  says("node1/cpulist", "2-3,6-7");
  EXPECT_EQ(numa_domains(folder_), Domains({{0, 1, 4, 5}, {2, 3, 6, 7}}));
}

TEST_F(NumaFolder, MemoryWithoutProcessorsIsNoDomain) {
  says("online", "0,2");
  says("node0/cpulist", "0-3");
  says("node2/cpulist", "");
  EXPECT_EQ(numa_domains(folder_), Domains({{0, 1, 2, 3}}));
}

TEST_F(NumaFolder, WhereTheKernelSaysNothingThereIsOneDomain) {
  const Domains domains = numa_domains(folder_);
  ASSERT_EQ(domains.size(), 1U);
  EXPECT_FALSE(domains.front().empty());
  EXPECT_EQ(domains.front().front(), 0);
}

TEST(Numa, ThisMachineHasAProcessor) {
  const Domains domains = numa_domains();
  ASSERT_FALSE(domains.empty());
  EXPECT_FALSE(domains.front().empty());
}

}  // namespace
}  // namespace hob::os
