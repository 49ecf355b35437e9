// When a process that lives on hits has to enter the MPI library. Pure.
#pragma once

#include <cstdint>

namespace hob::gets {

/// Many libraries let others' operations on a process advance only while it is inside them. Times
/// are ticks of one clock. Not thread safe.
class ProgressPace {
 public:
  /// At least once in `every` ticks; 0: never. The process has just been there.
  ProgressPace(std::uint64_t every, std::uint64_t now) : every_(every), entered_(now) {}

  bool due(std::uint64_t now) const { return now - entered_ > every_ && every_ != 0; }
  void entered(std::uint64_t now) { entered_ = now; }

 private:
  std::uint64_t every_;
  std::uint64_t entered_;
};

}  // namespace hob::gets
