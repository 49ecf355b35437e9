// What a ghost does with requests: it applies them to memory shared with the application ranks of
// its node, and never blocks. A request that cannot be done yet (its lock is held by another rank,
// its data are still on the way) waits in a queue of its (origin, target); requests of other
// origins and for other targets pass it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ghost/memory.hpp"
#include "ghost/transport.hpp"
#include "ghost/wire.hpp"

namespace hob::ghost {

/// Not thread safe: a ghost has one thread.
class Server {
 public:
  struct Config {
    std::byte* arena = nullptr;  ///< memory shared on this node; targets are offsets from here
    std::size_t arena_bytes = 0;
    Combine combine = nullptr;
  };
  struct Stats {
    std::uint64_t messages = 0;
    std::uint64_t operations = 0;  ///< records but unlocks and shutdowns
    std::uint64_t bytes = 0;       ///< moved or combined by them
    std::uint64_t lock_waits = 0;  ///< locks and fences that had to be waited for
    std::uint64_t deferred = 0;    ///< records that had to wait behind something
    std::uint64_t transfers = 0;   ///< data that travelled in messages of their own
  };

  Server(Config config, Transport& transport);
  ~Server();

  /// One request message; copied as far as it must be kept.
  void message(int origin, std::span<const std::byte> bytes);

  /// Tries again what waits. Returns whether anything moved.
  bool advance();

  /// Something waits for a lock, a fence or data: do not sleep long.
  bool waiting() const { return !streams_.empty(); }
  /// Data are under way.
  bool transferring() const;
  /// Replies that have not left yet.
  bool sending() const { return !sends_.empty(); }
  /// Origins that have asked for the shutdown.
  unsigned shutdowns() const { return shutdowns_; }
  const Stats& stats() const { return stats_; }

 private:
  struct Answer {
    int origin = 0;
    std::uint32_t tag = 0;
    std::uint32_t remaining = 0;
    std::uint32_t status = 0;
    std::vector<std::byte> buffer;  ///< reply header and results
  };
  struct Work {  ///< one record with all that it needs
    Answer* answer = nullptr;
    std::size_t result_at = 0;
    std::size_t number = 0;  ///< of the record in its message
    Record record{};
    std::vector<Block> blocks;
    std::vector<std::byte> data;
    unsigned tries = 0;
    bool counted = false;  ///< counted in Target::writers_waiting
  };
  struct Transfer {
    Work work;
    Handle handle = 0;
    bool inbound = false;
  };
  struct Stream {
    std::deque<Work> waiting;
    std::vector<Transfer> transfers;
    bool idle() const { return waiting.empty() && transfers.empty(); }
  };
  struct Send {
    Handle handle = 0;
    std::vector<std::byte> buffer;
  };
  using Key = std::pair<int, std::uint64_t>;  ///< origin, target

  Target* target_at(std::uint64_t offset) const;
  bool may_start(Stream* stream, const Record& record) const;
  bool take_lock(Work& work, bool first);
  bool take_lock_now(const Record& record);
  void prefetch(const Record& record, std::span<const Block> blocks) const;
  void run(int origin, const Record& record, const std::vector<Block>& blocks,
           const std::byte* data, Answer& answer, std::size_t number, std::size_t result_at);
  void start(const Key& key, Work work);
  void finish_inbound(const Key& key, Work& work);
  void apply(const Record& record, const std::vector<Block>& blocks, const std::byte* data,
             std::byte* result, std::size_t number, Answer& answer);
  void send_result(int origin, std::uint32_t tag, std::vector<std::byte> result);
  Answer& new_answer();
  void complete(Answer& answer);
  bool reclaim();
  std::vector<std::byte> buffer(std::size_t bytes);

  Config config_;
  Transport& transport_;
  Stats stats_;
  unsigned shutdowns_ = 0;
  std::map<Key, Stream> streams_;
  std::vector<Send> sends_;
  std::vector<std::vector<std::byte>> spare_;
  std::deque<Answer> answers_;         ///< all that were ever needed at a time
  std::vector<Answer*> free_answers_;  ///< of these
  std::vector<Block> blocks_;
};

}  // namespace hob::ghost
