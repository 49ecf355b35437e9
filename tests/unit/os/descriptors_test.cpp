#include "os/descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hob::os {
namespace {

class Descriptors : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = ::memfd_create("hob_test", MFD_CLOEXEC);
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(::ftruncate(fd_, 8192), 0);
    meant_ = identity_of(fd_);
  }
  void TearDown() override { ::close(fd_); }

  Unopened open_it(pid_t pid, const FileIdentity& meant) {
    Unopened why_not = Unopened::no;
    const int opened = open_descriptor(pid, fd_, meant, why_not);
    EXPECT_EQ(opened >= 0, why_not == Unopened::no);
    if (opened >= 0) ::close(opened);
    return why_not;
  }

  int fd_ = -1;
  FileIdentity meant_;
};

TEST_F(Descriptors, TheFileThatIsMeantIsOpened) {
  EXPECT_EQ(meant_.bytes, 8192u);
  EXPECT_EQ(open_it(::getpid(), meant_), Unopened::no);
}

TEST_F(Descriptors, AnotherFileUnderTheSameNumberIsNot) {
  for (std::uint64_t FileIdentity::*part :
       {&FileIdentity::device, &FileIdentity::inode, &FileIdentity::bytes}) {
    FileIdentity other = meant_;
    ++(other.*part);
    EXPECT_EQ(open_it(::getpid(), other), Unopened::other_file);
  }
}

TEST_F(Descriptors, ProcessesThatAreNotThereAreUnreachable) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(open_it(child, meant_), Unopened::unreachable);
}

/// As in a container: process 1 there is not the one that told its number.
TEST_F(Descriptors, InAnotherProcessNamespaceTheNumberMeansAnotherProcess) {
  enum { right, wrong, no_namespace, no_proc };
  const pid_t outside = ::fork();
  if (outside == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(no_namespace);
    const pid_t first = ::fork();
    if (first == 0) {
      // The same number, another file: a descriptor of a file of the user's.
      const int other = ::memfd_create("of_the_user", MFD_CLOEXEC);
      if (::mount("none", "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0 ||
          ::mount("proc", "/proc", "proc", 0, nullptr) != 0 || ::ftruncate(other, 8192) != 0 ||
          ::dup2(other, fd_) < 0)
        ::_exit(no_proc);
      Unopened why_not = Unopened::no;
      const int opened = open_descriptor(1, fd_, meant_, why_not);
      ::_exit(opened < 0 && why_not == Unopened::other_file ? right : wrong);
    }
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : wrong);
  }
  int status = 0;
  ::waitpid(outside, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) >= no_namespace)
    GTEST_SKIP() << "this process may not make process namespaces";
  EXPECT_EQ(WEXITSTATUS(status), right);
}

}  // namespace
}  // namespace hob::os
