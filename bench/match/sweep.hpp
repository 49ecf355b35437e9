// Clears the caches as an application's computing does: by using much other memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hob::bench {

class Sweep {
 public:
  explicit Sweep(std::size_t megabytes) : memory_(megabytes << 17, 1) {}

  /// Reads and writes every line.
  void operator()() {
    volatile std::uint64_t* memory = memory_.data();
    for (std::size_t i = 0; i < memory_.size(); i += 8) memory[i] = memory[i] + 1;
  }

 private:
  std::vector<std::uint64_t> memory_;
};

}  // namespace hob::bench
