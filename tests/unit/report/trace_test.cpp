#include "report/trace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace hob::report {
namespace {

class TraceFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hob-trace-XXXXXX";
    const int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    close(fd);
    path_ = name;
  }
  void TearDown() override { unlink(path_.c_str()); }

  std::string path_;
};

TEST_F(TraceFile, ReadsBackWhatWasWritten) {
  std::vector<TraceRecord> records;
  for (std::uint64_t i = 0; i < 10000; ++i)
    records.push_back({static_cast<TraceKind>(i % 4), 0, static_cast<std::uint16_t>(i % 7),
                       static_cast<std::uint32_t>(i * 77777), i << 40, i * i, i % 3, i});
  TraceWriter writer;
  ASSERT_TRUE(writer.open(path_.c_str(), 3, 8));
  for (const TraceRecord& record : records) writer.add(record);
  ASSERT_TRUE(writer.close());
  Trace trace;
  std::string error;
  ASSERT_TRUE(read_trace(path_.c_str(), trace, error)) << error;
  EXPECT_EQ(trace.rank, 3u);
  EXPECT_EQ(trace.ranks, 8u);
  EXPECT_EQ(trace.records, records);
}

TEST_F(TraceFile, OneThatWasCutShortIsReadAsFarAsItGoes) {
  TraceWriter writer;
  ASSERT_TRUE(writer.open(path_.c_str(), 0, 1));
  for (int i = 0; i < 10; ++i) writer.add({});
  ASSERT_TRUE(writer.close());
  ASSERT_EQ(truncate(path_.c_str(), 24 + 5 * 40 + 13), 0);
  Trace trace;
  std::string error;
  ASSERT_TRUE(read_trace(path_.c_str(), trace, error)) << error;
  EXPECT_EQ(trace.records.size(), 5u);
}

TEST_F(TraceFile, OtherFilesAreRefusedByName) {
  std::ofstream(path_) << "this is a text of more than a header's length";
  Trace trace;
  std::string error;
  EXPECT_FALSE(read_trace(path_.c_str(), trace, error));
  EXPECT_EQ(error, path_ + ": not a trace written by Hob");
  EXPECT_FALSE(read_trace("/nonexistent/trace", trace, error));
  EXPECT_NE(error.find("/nonexistent/trace"), std::string::npos);
}

TEST_F(TraceFile, OneOfAnotherVersionIsRefusedByItsVersion) {
  TraceWriter writer;
  ASSERT_TRUE(writer.open(path_.c_str(), 0, 1));
  ASSERT_TRUE(writer.close());
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8);  // behind the magic bytes
    const std::uint32_t version = 99;
    file.write(reinterpret_cast<const char*>(&version), sizeof version);
  }
  Trace trace;
  std::string error;
  EXPECT_FALSE(read_trace(path_.c_str(), trace, error));
  EXPECT_NE(error.find("trace format 99"), std::string::npos) << error;
}

TEST(TraceWriter, AFullDiskIsAnAnswer) {
  TraceWriter writer;
  if (!writer.open("/dev/full", 0, 1)) GTEST_SKIP() << "no /dev/full";
  for (int i = 0; i < 100000; ++i) writer.add({});
  EXPECT_FALSE(writer.close());
}

// The program has closed all descriptors that it does not know, and has files of its own under
// their numbers.
TEST(TraceWriter, WritesNothingToAFileThatHasItsNumber) {
  const std::string path = testing::TempDir() + "hob_trace_taken_over";
  TraceWriter writer;
  const int next = ::dup(0);
  ::close(next);
  ASSERT_TRUE(writer.open(path.c_str(), 0, 1));
  writer.add({});
  std::FILE* const other = std::tmpfile();
  ASSERT_EQ(::dup2(::fileno(other), next), next);
  EXPECT_FALSE(writer.close());
  EXPECT_EQ(::lseek(next, 0, SEEK_END), 0) << "nothing was written to it, and it is open";
  ::close(next);
  std::fclose(other);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hob::report
