#include "os/affinity.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

namespace hob::os {
namespace {

using Word = unsigned long;
constexpr std::size_t kWordBits = sizeof(Word) * CHAR_BIT;
constexpr std::size_t kFirstWords = 1024 / kWordBits;  // cpu_set_t
constexpr std::size_t kMostWords = (1U << 20) / kWordBits;

std::vector<Word> bits_of(const std::vector<int>& cpus) {
  const auto last = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end()));
  std::vector<Word> bits(std::max(kFirstWords, last / kWordBits + 1));
  for (const int cpu : cpus)
    bits[static_cast<std::size_t>(cpu) / kWordBits] |= Word{1}
                                                       << static_cast<std::size_t>(cpu) % kWordBits;
  return bits;
}

cpu_set_t* as_set(std::vector<Word>& words) { return reinterpret_cast<cpu_set_t*>(words.data()); }

}  // namespace

std::vector<int> own_cpus() {
  std::vector<int> cpus;
  // The system refuses sets that are smaller than its own.
  for (std::size_t words = kFirstWords; words <= kMostWords; words *= 2) {
    std::vector<Word> bits(words);
    const std::size_t bytes = words * sizeof(Word);
    if (::sched_getaffinity(0, bytes, as_set(bits)) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    for (std::size_t cpu = 0; cpu < words * kWordBits; ++cpu)
      if ((bits[cpu / kWordBits] >> cpu % kWordBits & 1) != 0)
        cpus.push_back(static_cast<int>(cpu));
    break;
  }
  return cpus;
}

void bind_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  std::vector<Word> bits = bits_of(cpus);
  ::sched_setaffinity(0, bits.size() * sizeof(Word), as_set(bits));
}

bool bind_thread(std::thread& thread, int cpu) {
  std::vector<Word> bits = bits_of({cpu});
  return ::pthread_setaffinity_np(thread.native_handle(), bits.size() * sizeof(Word),
                                  as_set(bits)) == 0;
}

}  // namespace hob::os
