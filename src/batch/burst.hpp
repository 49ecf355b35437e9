// Whether operations come in bursts that are worth gathering.
#pragma once

#include <cstdint>

namespace hob::batch {

/// Operations of one kind to one target between two completions. A short burst goes out operation
/// by operation; a long one is gathered, from its first operation on if the one before was long,
/// too. Not thread safe.
class Burst {
 public:
  /// An operation comes. Whether it is to be gathered, where bursts of `least` are worth it.
  bool gathers(std::uint32_t least) { return ++now_ > least || before_ >= least; }

  /// The operations so far are complete.
  void complete() {
    if (now_ == 0) return;  // other targets' or other kinds' completions say nothing
    before_ = now_;
    now_ = 0;
  }

  std::uint32_t length() const { return now_; }

 private:
  std::uint32_t now_ = 0;
  std::uint32_t before_ = 0;
};

}  // namespace hob::batch
