// A node of targets and ghost threads on the simulated network.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "ghost/binding.hpp"
#include "ghost/memory.hpp"
#include "ghost/peer.hpp"
#include "ghost/server.hpp"
#include "network.hpp"

namespace hob::ghost::test {

inline constexpr unsigned op_sum = 2;

inline void combine(const void* in, void* inout, std::size_t count, unsigned type,
                    unsigned operation) {
  if (operation != op_sum || type != 3U) std::abort();
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::memcpy(&a, static_cast<const std::byte*>(in) + 8 * i, 8);
    std::memcpy(&b, static_cast<std::byte*>(inout) + 8 * i, 8);
    b += a;
    std::memcpy(static_cast<std::byte*>(inout) + 8 * i, &b, 8);
  }
}

inline constexpr Element int64_element{3, 8};

// A node with `targets` windows' worth of memory and `ghosts` ghost threads serving `origins`.
class Node {
 public:
  Node(Network& network, int origins, int ghosts, std::size_t targets, std::uint64_t size)
      : origins_(origins), size_(size), stride_((sizeof(Target) + size + 63) / 64 * 64) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, stride_ * targets)));
    std::memset(memory_.get(), 0, stride_ * targets);
    std::vector<std::uint64_t> sizes(targets, size);
    segments_ = std::make_unique<Segments>(sizes, static_cast<unsigned>(ghosts));
    for (std::size_t t = 0; t < targets; ++t) {
      target(t).size = size;
      target(t).address = sizeof(Target);
    }
    for (int g = 0; g < ghosts; ++g) {
      ranks_.push_back(origins + g);
      threads_.emplace_back([this, &network, g] { serve(network, origins_ + g); });
    }
  }
  ~Node() {
    stop_ = true;
    for (auto& thread : threads_) thread.join();
  }
  Target& target(std::size_t t) { return *reinterpret_cast<Target*>(memory_.get() + t * stride_); }
  std::byte* data(std::size_t t) { return memory_.get() + t * stride_ + sizeof(Target); }
  std::int64_t value(std::size_t t, std::size_t i) {
    std::int64_t v = 0;
    std::memcpy(&v, data(t) + 8 * i, 8);
    return v;
  }
  GhostNode known() const { return {ranks_, Load(static_cast<unsigned>(ranks_.size()))}; }
  Peer remote(GhostNode& node, std::size_t t, bool segments) const {
    Peer peer;
    peer.target = t * stride_;
    peer.size = size_;
    peer.node = &node;
    peer.home = static_cast<unsigned>(t % ranks_.size());
    if (segments) peer.pieces = &segments_->pieces(t);
    return peer;
  }
  Peer direct(std::size_t t) {
    Peer peer;
    peer.direct = &target(t);
    peer.size = size_;
    return peer;
  }

 private:
  void serve(Network& network, int rank) {
    End end(network, rank);
    Server server({memory_.get(), 1U << 30, combine}, end);
    std::vector<std::byte> request;
    while (!stop_ || server.waiting() || server.sending()) {
      for (int o = 0; o < origins_; ++o) {
        if (end.request(o, request)) server.message(o, request);
      }
      server.advance();
      std::this_thread::yield();
    }
  }
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  int origins_;
  std::uint64_t size_;
  std::size_t stride_;
  std::unique_ptr<std::byte, Free> memory_;
  std::unique_ptr<Segments> segments_;
  std::vector<int> ranks_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace hob::ghost::test
