// Stores noticed by the kernel's soft-dirty bits, where it cannot track single ranges of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "os/own_descriptor.hpp"
#include "validation/stored_pages.hpp"

namespace hob::validation {

/// Linux 3.11 and later, where it was built with CONFIG_MEM_SOFT_DIRTY (as RHEL, SLES and Debian
/// are). One bit for each page of the process says whether it was stored to since the bits were
/// cleared, which is done for the whole process at once. So clearing walks all of its page tables,
/// and the first store to each page afterwards costs a fault, in whatever memory. Where another
/// program clears them, too, every page counts as written.
///
/// Not thread safe, and only for processes in which no other thread stores meanwhile: a store
/// between reading the bits and clearing them would be lost.
class SoftDirty {
 public:
  struct Range : PageRange {
    bool watched = false;
    bool whole = false;         ///< all pages have to be there, and none may show a file
    StoredPages written{};      ///< seen when the bits were cleared for another range
    std::vector<bool> present;  ///< the pages that were there when the bits were cleared
  };

  /// Whether this kernel has the bits, found out by a store.
  static bool available();

  static SoftDirty& process();

  /// From now on stores to the range are noticed. Calls with the same `moment`, if it is not 0,
  /// come from one place between which the program stores nothing: they share the clearing. False
  /// if the kernel refuses. `range` stays where it is until forget().
  bool track(Range& range, std::uint64_t moment);
  void forget(Range& range);

  /// Pages of a watched range that were stored to, or given back to the system, since track().
  StoredPages pages_written(const Range& range) const;

  /// Faults of the process since the bits were cleared that were not returned before: those that
  /// clearing has caused are among them.
  std::uint64_t take_faults();

 private:
  SoftDirty();
  bool usable() const;
  bool cleared_by_others() const;
  bool clear();
  template <class Visit>
  bool each_page(const Range& range, Visit visit) const;

  os::OwnDescriptor pagemap_;
  os::OwnDescriptor clear_refs_;
  volatile int* mark_ = nullptr;  ///< a page of its own
  int owner_ = 0;  ///< process id: after fork() the files still speak of the parent's memory
  std::vector<Range*> tracked_;
  std::uint64_t moment_ = 0;
  std::uint64_t faults_ = 0;  ///< of the process when the bits were cleared
};

}  // namespace hob::validation
