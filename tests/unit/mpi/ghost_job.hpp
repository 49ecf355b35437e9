// A job of two nodes on the fake library, as one of its application ranks sees it: this process and
// its ghost, another application rank and the ghost that serves it. The other node's ghost is a
// ghost::Server in this process, which answers as soon as it is asked.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "fake_mpi.hpp"
#include "ghost/server.hpp"
#include "mpi/core/context.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "mpi/rma/ghost/ghost_backend.hpp"

namespace hob::mpi::test {

/// Ranks of the internal communicator. In the world that the program sees, kThere is 1.
inline constexpr int kHere = 0, kGhostHere = 1, kThere = 2, kGhostThere = 3;

class GhostJob : public testing::Test {
 protected:
  static constexpr std::size_t kWords = 4096;  ///< of int64_t, that each rank exposes

  void SetUp() override {
    real::Comm_dup(MPI_COMM_WORLD, &world_.internal_comm);
    real::Comm_group(world_.internal_comm, &world_.internal_group);
    real::Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &unused_, &win_);
    world_.rank = kHere;
    world_.ranks = {{0, -1, 0, 0}, {0, 0, 0, -1}, {1, -1, 0, 1}, {1, 0, 0, -1}};
    world_.slice_begins = {0, 0, 0, 0};
    world_.ghosts = {{kGhostHere}, {kGhostThere}};
    world_.arena = reinterpret_cast<std::byte*>(near_.get());
    near_->target.size = far_->target.size = sizeof near_->words;
    near_->target.address = far_->target.address = offsetof(Part, words);
    client_ = std::make_unique<GhostClient>(world_, false);
    ghost_client = client_.get();
    forget_calls();
  }
  void TearDown() override {
    backend_.reset();
    client_.reset();
    ghost_client = nullptr;
    fake::reset();
    real::Win_free(&win_);
    real::Comm_free(&world_.internal_comm);
  }

  /// fake::calls() counts from here.
  void forget_calls() {
    fake::reset();
    fake::on_send([this](int to, int tag, MPI_Comm, const std::byte* bytes, std::size_t size) {
      sent(to, static_cast<std::uint32_t>(tag), bytes, size);
    });
  }

  /// A window of both application ranks, of which this one is rank 0.
  GhostBackend& window(std::uint64_t serial = 7) { return window_of(serial, false); }
  /// The same with memory that ghosts never fail to reach: operations may be counted.
  GhostBackend& counting_window() { return window_of(7, true); }
  std::int64_t& word_here(std::size_t i) { return near_->words[i]; }
  std::int64_t& word_there(std::size_t i) { return far_->words[i]; }
  ghost::Target& target_here() { return near_->target; }
  ghost::Target& target_there() { return far_->target; }

  /// A post or complete of another application rank comes in.
  void notify(int from, std::uint32_t kind, std::uint64_t serial = 7,
              std::uint32_t operations = 0) {
    const Token token{serial, kind, operations};
    fake::arrive(from, static_cast<int>(ghost::kTokenTag), world_.internal_comm, &token,
                 sizeof token);
  }
  static constexpr std::uint32_t kPost = 0, kComplete = 1;

  /// The messages to other application ranks since this was asked last: to whom, and their kind.
  std::vector<std::pair<int, std::uint32_t>> take_notified() {
    return std::exchange(notified_, {});
  }

  /// The operations that these messages reported, in all.
  std::uint32_t take_operations() { return std::exchange(operations_, 0); }

  /// Answers of the ghost are kept until answer(), as if it were slow.
  void keep_answers() { keeps_ = true; }
  void answer() {
    keeps_ = false;
    for (auto& [tag, bytes] : std::exchange(kept_, {})) reply(tag, bytes.data(), bytes.size());
  }
  ghost::Server& server() { return server_; }

 private:
  GhostBackend& window_of(std::uint64_t serial, bool in_arena) {
    const ExposedMemory memory{PerRank(0), PerRank(sizeof near_->words), PerRank(8), serial,
                               in_arena};
    backend_ = std::make_unique<GhostBackend>(
        GhostTargets(memory, client_->groups.share({kHere, kThere})), ArenaMemory{}, 0);
    backend_->handle = win_;
    return *backend_;
  }

  struct Token {
    std::uint64_t window;
    std::uint32_t kind, operations;
  };
  struct Part {
    ghost::Target target{};
    std::int64_t words[kWords]{};
  };

  /// The ghost's end of the network.
  class Network final : public ghost::Transport {
   public:
    explicit Network(GhostJob& job) : job_(job) {}
    ghost::Handle send(int, std::uint32_t tag, const void* data, std::size_t bytes) override {
      job_.reply(tag, data, bytes);
      return 0;
    }
    ghost::Handle receive(int, std::uint32_t tag, void* data, std::size_t bytes) override {
      posted_[tag] = {data, bytes};
      return tag;
    }
    bool done(ghost::Handle& handle) override {
      if (handle == 0) return true;
      const auto tag = static_cast<std::uint32_t>(handle);
      const auto data = job_.data_.find(tag);
      if (data == job_.data_.end()) return false;
      std::memcpy(posted_[tag].first, data->second.data(), data->second.size());
      job_.data_.erase(data);
      handle = 0;
      return true;
    }
    void relax(unsigned, bool) override {}
    std::uint64_t waits(bool) override { return 0; }

   private:
    GhostJob& job_;
    std::map<std::uint32_t, std::pair<void*, std::size_t>> posted_;
  };

  void reply(std::uint32_t tag, const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(data);
    if (keeps_)
      kept_.emplace_back(tag, std::vector<std::byte>(from, from + bytes));
    else
      fake::arrive(kGhostThere, static_cast<int>(tag), world_.internal_comm, data, bytes);
  }

  void sent(int to, std::uint32_t tag, const std::byte* bytes, std::size_t size) {
    if (tag == ghost::kTokenTag) {
      Token token{};
      std::memcpy(&token, bytes, sizeof token);
      notified_.emplace_back(to, token.kind);
      operations_ += token.operations;
      return;
    }
    ASSERT_EQ(to, kGhostThere) << "the own node's memory needs no ghost";
    if (tag == ghost::kRequestTag)
      server_.message(kHere, {bytes, size});
    else
      data_[tag].assign(bytes, bytes + size);
    while (server_.advance()) {
    }
  }

  GhostWorld world_{};
  std::unique_ptr<Part> near_ = std::make_unique<Part>(), far_ = std::make_unique<Part>();
  Network network_{*this};
  ghost::Server server_{{reinterpret_cast<std::byte*>(far_.get()), sizeof(Part), combine},
                        network_};
  std::unique_ptr<GhostClient> client_;
  std::unique_ptr<GhostBackend> backend_;
  MPI_Win win_ = MPI_WIN_NULL;
  void* unused_ = nullptr;
  bool keeps_ = false;
  std::deque<std::pair<std::uint32_t, std::vector<std::byte>>> kept_;
  std::map<std::uint32_t, std::vector<std::byte>> data_;
  std::vector<std::pair<int, std::uint32_t>> notified_;
  std::uint32_t operations_ = 0;
};

}  // namespace hob::mpi::test
