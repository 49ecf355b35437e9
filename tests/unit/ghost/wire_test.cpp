#include "ghost/wire.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hob::ghost {
namespace {

TEST(Wire, ReadsBackWhatWasWritten) {
  std::mt19937 random(4);
  std::vector<std::byte> buffer(kMessageBytes);
  for (int round = 0; round < 200; ++round) {
    Writer writer;
    writer.open(buffer.data());
    std::vector<std::vector<Block>> lists;
    std::vector<std::vector<std::byte>> data;
    for (;;) {
      std::vector<Block> list;
      const std::size_t blocks = 1 + random() % 20;
      const bool regular = random() % 2 == 0;
      std::int64_t at = static_cast<std::int64_t>(random() % 1000);
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::uint64_t length = regular ? 24 : 1 + random() % 30;
        list.push_back({at, length});
        at += regular ? 40 : static_cast<std::int64_t>(length + 1 + random() % 9);
      }
      const std::size_t bytes = total_bytes(list);
      if (writer.room() < Writer::need(list, bytes)) break;
      Record record{};
      record.kind = Kind::put;
      record.bytes = bytes;
      record.target = 64 * lists.size();
      std::byte* place = writer.append(record, list, bytes);
      data.emplace_back(bytes);
      for (auto& byte : data.back()) byte = static_cast<std::byte>(random());
      std::memcpy(place, data.back().data(), bytes);
      lists.push_back(list);
    }
    writer.close(77);
    Reader reader(buffer.data(), writer.used());
    EXPECT_EQ(reader.header().tag, 77U);
    Record record;
    std::vector<Block> blocks;
    const std::byte* inline_data = nullptr;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      ASSERT_TRUE(reader.next(record, blocks, inline_data));
      EXPECT_EQ(record.target, 64 * i);
      EXPECT_EQ(blocks, lists[i]);
      EXPECT_EQ(std::memcmp(inline_data, data[i].data(), data[i].size()), 0);
    }
    EXPECT_FALSE(reader.next(record, blocks, inline_data));
  }
}

TEST(Wire, RegularBlocksTakeNoList) {
  std::vector<Block> rows;
  for (int i = 0; i < 10000; ++i) rows.push_back({100 * i, 8});
  EXPECT_EQ(list_bytes(rows), sizeof(Stride));
  rows.back().length = 4;
  EXPECT_EQ(list_bytes(rows), rows.size() * sizeof(Block));
}

}  // namespace
}  // namespace hob::ghost
