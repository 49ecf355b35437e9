// Which launch started a process, by what launchers leave in the environment.
#include "base/launch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace hob {
namespace {

/// Whether `holds` in a child process, which has an environment of its own.
bool in_a_child(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class ALaunch : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"PMIX_NAMESPACE", "PMI_FD", "PMI_SPAWNED", kLaunchVariable, "MPI_LOCALRANKID",
          "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"})
      ::unsetenv(name);
  }
  void TearDown() override { SetUp(); }
};

TEST_F(ALaunch, OfNobodyIsNotKnown) {
  const Launch launch = Launch::here();
  EXPECT_EQ(launch.job, "");
  EXPECT_EQ(launch.rank, -1);
  EXPECT_EQ(launch.ranks, 0);
  EXPECT_TRUE(is_named_launch()) << "nothing was inherited";
}

TEST_F(ALaunch, OfOpenMpiHasItsNamespaceAndPlaceOnTheNode) {
  ::setenv("PMIX_NAMESPACE", "prterun-7", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "2", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  const Launch launch = Launch::here();
  EXPECT_EQ(launch.job, std::to_string(::getuid()) + ".prterun-7");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.ranks, 4);
}

TEST_F(ALaunch, OfHydraHasTheProcessThatStartedIt) {
  // The parent has another descriptor, or none: it is no script around this rank.
  const auto here = [] {
    ::setenv("PMI_FD", "a descriptor that only the child has", 1);
    ::setenv("MPI_LOCALRANKID", "1", 1);
    ::setenv("MPI_LOCALNRANKS", "3", 1);
    return Launch::here();
  };
  EXPECT_TRUE(in_a_child([&] {
    const Launch launch = here();
    return launch.job == std::to_string(::getuid()) + ".hydra." + std::to_string(::getppid()) &&
           launch.rank == 1 && launch.ranks == 3;
  }));
  EXPECT_TRUE(in_a_child([&] {
    ::setenv("PMI_SPAWNED", "1", 1);
    const Launch launch = here();
    return !launch.job.empty() && launch.rank == -1 && launch.ranks == 0;
  })) << "the ranks of MPI_Comm_spawn are numbered from 0 again";
}

TEST_F(ALaunch, NamesWhatItStartsByItsJob) {
  ::setenv("PMIX_NAMESPACE", "prterun-7", 1);
  name_launch();
  EXPECT_TRUE(is_named_launch());
  ::setenv("PMIX_NAMESPACE", "prterun-8", 1);
  EXPECT_FALSE(is_named_launch()) << "inherited from a rank of another launch";
}

TEST_F(ALaunch, WithoutALauncherItIsThisProcessAndItsChildren) {
  name_launch();
  EXPECT_TRUE(is_named_launch());
  EXPECT_TRUE(in_a_child([] { return is_named_launch(); }));
  EXPECT_TRUE(in_a_child([] {
    ::setenv(kLaunchVariable, "process 1999999999", 1);
    return !is_named_launch();
  }));
}

/// A process that a launcher started as a rank, and that waits until this is gone.
class Rank {
 public:
  explicit Rank(int number, bool own_network = false) {
    int end[2], started[2];
    if (::pipe2(end, O_CLOEXEC) != 0 || ::pipe2(started, O_CLOEXEC) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      if (own_network && ::unshare(CLONE_NEWNET) != 0) ::_exit(1);
      ::dup2(end[0], STDIN_FILENO);
      const std::string rank = "MPI_LOCALRANKID=" + std::to_string(number);
      const char* environment[] = {"PMI_FD=7", rank.c_str(), "MPI_LOCALNRANKS=2", nullptr};
      ::execle("/bin/cat", "cat", nullptr, environment);
      ::_exit(1);
    }
    ::close(end[0]);
    ::close(started[1]);
    end_ = end[1];
    char byte = 0;
    running_ = ::read(started[0], &byte, 1) == 0;  // closed by exec
    ::close(started[0]);
  }
  ~Rank() {
    ::close(end_);
    int status = 0;
    ::waitpid(process_, &status, 0);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  bool running() const { return running_; }

 private:
  pid_t process_ = -1;
  int end_ = -1;
  bool running_ = false;
};

TEST_F(ALaunch, IsSeenAsAWholeWhereAllItsRanksAre) {
  const Launch launch{std::to_string(::getuid()) + ".hydra." + std::to_string(::getpid()), 0, 2};
  EXPECT_FALSE(sees_all_of_launch(launch));
  const Rank first(0);
  ASSERT_TRUE(first.running());
  EXPECT_FALSE(sees_all_of_launch(launch)) << "rank 1 is nowhere: it may be in a container";
  const Rank second(1);
  ASSERT_TRUE(second.running());
  EXPECT_TRUE(sees_all_of_launch(launch));
  EXPECT_FALSE(sees_all_of_launch({launch.job, 0, 3}));
  EXPECT_FALSE(sees_all_of_launch({launch.job + "0", 0, 2})) << "ranks of another job";
}

TEST_F(ALaunch, IsNotSeenAsAWholeWhereARankHasANetworkOfItsOwn) {
  if (!in_a_child([] { return ::unshare(CLONE_NEWNET) == 0; }))
    GTEST_SKIP() << "this process may not make network namespaces";
  const Launch launch{std::to_string(::getuid()) + ".hydra." + std::to_string(::getpid()), 0, 2};
  const Rank first(0), second(1, true);
  ASSERT_TRUE(first.running() && second.running());
  EXPECT_FALSE(sees_all_of_launch(launch));
}

}  // namespace
}  // namespace hob
