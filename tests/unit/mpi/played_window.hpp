// A window's gets on a backend that copies bytes when it is told to: what tests of single classes
// of the cache are built on.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "fake_mpi.hpp"
#include "fake_types.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/cache/block_gets.hpp"
#include "mpi/rma/cache/get_issuer.hpp"
#include "mpi/rma/cache/requested_gets.hpp"

namespace hob::mpi {

inline constexpr std::size_t kMemory = 65536;
inline constexpr std::uint64_t kBlock = 4096;
inline constexpr int kTarget = 1;

/// The memory of a target, and what was asked of it.
struct PlayedBackend final : Backend {
  int issue(const rma::Op& op) override {
    if (error != MPI_SUCCESS) return error;
    issued.push_back(op);
    types.push_back(fake::type_of(op.target_type));  // it may be freed before the bytes come
    if (op.request) return real::Rget(&word, 1, MPI_INT, kTarget, 0, 1, MPI_INT, win, op.request);
    return MPI_SUCCESS;
  }
  int synchronise(const rma::Sync&) override { return MPI_SUCCESS; }
  /// All gets bring their bytes.
  void arrive() {
    for (std::size_t i = 0; i < issued.size(); ++i) {
      auto* to = static_cast<std::byte*>(issued[i].result.address);
      const std::byte* from = memory.data() + issued[i].disp;
      for (MPI_Count k = 0; k < issued[i].target_count; ++k, from += types[i].extent)
        for (const auto& [offset, bytes] : types[i].blocks) {
          std::memcpy(to, from + offset, static_cast<std::size_t>(bytes));
          to += bytes;
        }
    }
    issued.clear();
    types.clear();
  }

  std::vector<std::byte> memory = std::vector<std::byte>(kMemory);
  std::vector<rma::Op> issued;
  std::vector<fake::Type> types;  ///< at the target
  int error = MPI_SUCCESS;
  int word = 0;
  MPI_Win win = MPI_WIN_NULL;
};

class PlayedWindow : public testing::Test, public RequestedGets::Owner {
 protected:
  void SetUp() override {
    fake::reset();
    real::Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &backend_.win);
    for (std::size_t i = 0; i < kMemory; ++i) backend_.memory[i] = std::byte(i * 7 % 251);
    bool lacking = false;
    t_ = &targets_.at(kTarget, lacking, [](TargetState&) {});
    ahead_.exposed->assign(PerRank(kMemory), PerRank(kAllReadable));
    issuer_.know_ahead(ahead_);
    acquires.users.fetch_add(1);  // else acquires are not counted
  }
  void TearDown() override {
    acquires.users.fetch_sub(1);
    real::Win_free(&backend_.win);
  }

  void get_arrived(PendingGet& pending, TargetState&, bool awaited) override {
    arrived_.push_back(awaited);
    cache_->fill(pending.entry, pending.first_byte(), pending.bytes);
  }
  void get_failed() override { ++failed_; }

  Get get_of(std::uint64_t displacement, int bytes, MPI_Request* request = nullptr) {
    return Get::get(buffer_.data(), bytes, MPI_BYTE, kTarget, static_cast<MPI_Aint>(displacement),
                    bytes, MPI_BYTE, request);
  }
  static CacheableGet wanted_of(const Get& get) {
    const Layout& bytes = layout_of(MPI_BYTE);
    return {&bytes,
            &bytes,
            {kTarget, static_cast<std::uint64_t>(get.disp), 0},
            static_cast<std::uint64_t>(get.target_count),
            true};
  }
  /// What a lookup finds of a get of so many bytes.
  cache::Hit found(std::uint64_t displacement, std::uint64_t bytes) {
    return cache_->find({kTarget, displacement, 0}, bytes).kind;
  }
  bool has_right_bytes(std::uint64_t displacement, std::size_t bytes) const {
    return std::memcmp(buffer_.data(), backend_.memory.data() + displacement, bytes) == 0;
  }
  PendingGet& only_pending() { return under_way_[t_->pending.at(0)]; }

  void* base_ = nullptr;
  std::array<std::byte, 256> buffer_{};
  std::vector<bool> arrived_;
  int failed_ = 0;

  std::unique_ptr<cache::Cache> cache_ = cache::Cache::create({});
  PlayedBackend backend_;
  Outstanding results_;
  DisplacementUnits units_;
  Coherence coherence_{Mode::automatic, 0};
  NodeSharing sharing_{coherence_};
  ExclusiveSpin lock_;
  gets::HotLookup hot_{{}, *cache_};
  OwnEpoch own_epoch_;
  TargetTable targets_;
  TargetState* t_ = nullptr;
  GetsUnderWay under_way_;
  gets::HitCost hit_{100, 0.1};
  gets::Learning learning_{{.trips = {.profile = {.bypass = false}}}, hit_, under_way_, *cache_};
  gets::KeptCopies kept_{*cache_};
  gets::ProgressPace progress_{0, 0};
  GetStats stats_;
  GetIssuer issuer_{{.rank = 0},
                    {backend_, results_, *cache_, units_, coherence_, sharing_, hot_, own_epoch_,
                     under_way_, learning_, kept_, stats_}};
  Ahead ahead_{{.fixed_bytes = kBlock}, std::make_unique<ExposedSizes>(), {}, 8000, 0.25};
  RequestedGets requested_{{*this, lock_, hot_, issuer_, backend_, *cache_, targets_, under_way_,
                            learning_, kept_, progress_, stats_}};
};

}  // namespace hob::mpi
