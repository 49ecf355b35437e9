// The sockets of this process: the MPI library hears from other nodes through some of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "os/own_descriptor.hpp"

namespace hob::os {

/// The library does not say which descriptors it uses, so all sockets are watched. Connections are
/// made when they are first used: looked for often at first, then less and less.
class Sockets {
 public:
  struct Config {
    std::uint64_t first_pause_ns = 0;    ///< between two looks for new sockets, after one was found
    std::uint64_t longest_pause_ns = 0;  ///< doubled up to this while there are none
    /// Only sockets to other nodes, and of these only bytes that come, and room to send where there
    /// was none, wake.
    bool changes = false;
  };

  explicit Sockets(const Config& config) : config_(config) {}
  ~Sockets() { close(); }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  /// Blocks until one is readable (or has changed), at most so many nanoseconds; `extra` (a
  /// descriptor or -1) counts as soon as it is readable. Number of those; -1 where there is no
  /// socket to wait for.
  int wait(int extra, std::uint64_t ns);
  /// Whether the last wait found this one readable.
  bool readable(int fd) const {
    return std::find(readable_.begin(), readable_.end(), fd) != readable_.end();
  }
  /// A message came that none of them announced: looks for new ones. False if there are none.
  bool look_again();
  /// Those that are readable now will not be watched any more.
  void ignore_readable(int extra);

 private:
  void scan(int extra);
  bool intact() const;
  void close();

  Config config_;
  int epoll_ = -1;
  OwnPipe marker_;  ///< in this set and in no other: shows whether the number still is the set
  std::vector<int> watched_;
  std::vector<int> readable_;
  std::vector<FileIdentity> noisy_;
  std::uint64_t looked_ = 0;
  std::uint64_t pause_ns_ = 0;
  int extra_ = -1;
};

}  // namespace hob::os
