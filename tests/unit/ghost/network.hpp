// A network inside one process, with delays, for testing origins and ghosts against each other.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "ghost/transport.hpp"

namespace hob::ghost::test {

class Network {
 public:
  explicit Network(unsigned seed, unsigned longest_delay) : random_(seed), delay_(longest_delay) {}

  struct Packet {
    std::vector<std::byte> data;
    unsigned looks = 0;  // it stays invisible for so many looks
  };
  using Address = std::tuple<int, int, std::uint32_t>;  // to, from, tag

  void send(const Address& address, const void* data, std::size_t bytes) {
    const std::lock_guard hold(lock_);
    Packet packet{std::vector<std::byte>(bytes),
                  delay_ == 0 ? 0 : static_cast<unsigned>(random_()) % delay_};
    if (bytes != 0) std::memcpy(packet.data.data(), data, bytes);
    packets_[address].push_back(std::move(packet));
    ++sent_;
  }
  bool take(const Address& address, std::vector<std::byte>& data) {
    const std::lock_guard hold(lock_);
    const auto queue = packets_.find(address);
    if (queue == packets_.end()) return false;
    if (queue->second.front().looks > 0) {
      --queue->second.front().looks;
      return false;
    }
    data = std::move(queue->second.front().data);
    queue->second.pop_front();
    if (queue->second.empty()) packets_.erase(queue);
    return true;
  }
  unsigned long sent() {
    const std::lock_guard hold(lock_);
    return sent_;
  }

 private:
  std::mutex lock_;
  std::mt19937 random_;
  unsigned delay_;
  std::map<Address, std::deque<Packet>> packets_;
  unsigned long sent_ = 0;
};

/// One process's end of it. `lock`: held by whoever calls, and given away in waits; null: the
/// process has one thread.
class End final : public Transport {
 public:
  End(Network& network, int rank, std::mutex* lock = nullptr)
      : network_(network), rank_(rank), lock_(lock) {}

  /// What another thread does in a wait: called in every turn of one, but not from within itself.
  std::function<void()> meanwhile;

  Handle send(int peer, std::uint32_t tag, const void* data, std::size_t bytes) override {
    network_.send({peer, rank_, tag}, data, bytes);
    return 0;
  }
  Handle receive(int peer, std::uint32_t tag, void* data, std::size_t bytes) override {
    const Handle handle = next_++;
    posted_[handle] = {{rank_, peer, tag}, data, bytes};
    return handle;
  }
  bool done(Handle& handle) override {
    if (handle == 0) return true;
    const auto posted = posted_.find(handle);
    std::vector<std::byte> data;
    if (!network_.take(posted->second.address, data)) return false;
    if (data.size() > posted->second.bytes) std::abort();
    if (!data.empty()) std::memcpy(posted->second.data, data.data(), data.size());
    posted_.erase(posted);
    handle = 0;
    return true;
  }
  void relax(unsigned, bool) override {
    if (lock_ != nullptr) lock_->unlock();
    std::this_thread::yield();
    if (lock_ != nullptr) lock_->lock();
    if (meanwhile && !in_between_) {
      in_between_ = true;
      const auto act = meanwhile;  // which may set another
      act();
      in_between_ = false;
    }
  }
  std::uint64_t waits(bool) override { return 0; }

  /// The next request of this origin, for a ghost's loop.
  bool request(int origin, std::vector<std::byte>& data) {
    return network_.take({rank_, origin, kRequestTag}, data);
  }

 private:
  struct Posted {
    Network::Address address;
    void* data;
    std::size_t bytes;
  };
  Network& network_;
  int rank_;
  std::mutex* lock_;
  bool in_between_ = false;
  Handle next_ = 1;
  std::map<Handle, Posted> posted_;
};

}  // namespace hob::ghost::test
