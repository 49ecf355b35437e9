#include "report/job_log.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hob::report {
namespace {

RunContext a_run() {
  RunContext run;
  run.version = "1.2.3";
  run.abi = "mpich";
  run.job = "4711.pbs";
  run.command = {"/home/me/my app\nuid=0", "--password=x"};
  run.ranks = 64;
  run.nodes = 2;
  run.seconds = 12.34;
  return run;
}

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A directory that goes with the test.
class JobLog : public testing::Test {
 protected:
  JobLog() {
    std::string pattern = testing::TempDir() + "hob_log_XXXXXX";
    directory = mkdtemp(pattern.data());
  }
  ~JobLog() override { std::filesystem::remove_all(directory); }

  std::string directory;
};

TEST_F(JobLog, TheLineHasWordsAndNoArguments) {
  Counters sums;
  sums.values = {{"saved_ns", 1'000'000'000}, {"match_saved_ns", 500'000'000}};
  const std::string uid = std::to_string(getuid());
  EXPECT_EQ(job_line(a_run(), "n17", sums),
            "hob=1.2.3 uid=" + uid +
                " host=n17 job=4711.pbs program=my_app_uid_0 ranks=64 nodes=2 mpi=mpich "
                "seconds=12.3 saved_seconds=1.500");
}

TEST_F(JobLog, LinesAreAppended) {
  const std::string path = directory + "/jobs.log";
  EXPECT_EQ(log_job(path, "one"), "");
  EXPECT_EQ(log_job(path, "two"), "");
  EXPECT_EQ(text_of(path), "one\ntwo\n");
}

TEST_F(JobLog, OnlyARegularFileIsWrittenTo) {
  const std::string pipe = directory + "/pipe", link = directory + "/link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(log_job(pipe, "one"), "");
  std::ofstream(directory + "/mine") << "";
  ASSERT_EQ(symlink("mine", link.c_str()), 0);
  EXPECT_NE(log_job(link, "one"), "");
  EXPECT_EQ(text_of(directory + "/mine"), "");
  EXPECT_NE(log_job(directory + "/none/jobs.log", "one"), "");
}

TEST_F(JobLog, TheSystemsLogGetsOneMessage) {
  const std::string path = directory + "/log";
  const int log = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(bind(log, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(log_to_socket(path, "ranks=4"), "");
  std::string message(256, '\0');
  const auto length = recv(log, message.data(), message.size(), MSG_DONTWAIT);
  close(log);
  ASSERT_GT(length, 0);
  message.resize(static_cast<std::size_t>(length));
  EXPECT_EQ(message, "<14>hob[" + std::to_string(getpid()) + "]: ranks=4");
  EXPECT_NE(log_to_socket(directory + "/nobody", "ranks=4"), "");
}

}  // namespace
}  // namespace hob::report
