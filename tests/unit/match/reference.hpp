#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "match/envelope.hpp"

namespace hob::match::test {

/// MPI's matching order as plainly as it can be written: a vector and a loop. Items are numbers.
class Reference {
 public:
  struct Entry {
    Envelope envelope;
    std::uintptr_t item;
  };

  /// The item of the message that was taken, or nothing: then the receive is queued.
  std::optional<std::uintptr_t> post(const Envelope& want, std::uintptr_t request) {
    for (std::size_t i = 0; i < unexpected.size(); ++i) {
      if (accepts(want, unexpected[i].envelope)) return take(unexpected, i);
    }
    posted.push_back({want, request});
    return std::nullopt;
  }

  std::optional<std::uintptr_t> arrive(const Envelope& envelope, std::uintptr_t message) {
    for (std::size_t i = 0; i < posted.size(); ++i) {
      if (accepts(posted[i].envelope, envelope)) return take(posted, i);
    }
    unexpected.push_back({envelope, message});
    return std::nullopt;
  }

  std::optional<std::uintptr_t> probe(const Envelope& want) const {
    for (const Entry& entry : unexpected) {
      if (accepts(want, entry.envelope)) return entry.item;
    }
    return std::nullopt;
  }

  static std::uintptr_t take(std::vector<Entry>& queue, std::size_t i) {
    std::uintptr_t item = queue[i].item;
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
    return item;
  }

  static std::vector<Entry> of_context(const std::vector<Entry>& queue, std::uint32_t context) {
    std::vector<Entry> result;
    for (const Entry& entry : queue) {
      if (entry.envelope.context == context) result.push_back(entry);
    }
    return result;
  }

  std::vector<Entry> posted;
  std::vector<Entry> unexpected;
};

}  // namespace hob::match::test
