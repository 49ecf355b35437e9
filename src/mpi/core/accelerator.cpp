#include "mpi/core/accelerator.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <mutex>

namespace hob::mpi {
namespace {

/// Of a library that is loaded, however it was: Python loads its modules' where RTLD_DEFAULT does
/// not look.
template <class Function>
Function* find(const char* name, std::initializer_list<const char*> libraries) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Function*>(found);
  for (const char* library : libraries) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    void* found = dlsym(handle, name);
    dlclose(handle);  // one reference less: RTLD_NOLOAD has loaded nothing
    if (found) return reinterpret_cast<Function*>(found);
  }
  return nullptr;
}

/// CUDA's driver: cuPointerGetAttribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE).
class Cuda {
 public:
  bool look() {
    if (!query_) query_ = find<Query>("cuPointerGetAttribute", {"libcuda.so.1", "libcuda.so"});
    return query_ != nullptr;
  }
  bool device(const void* address) const {
    constexpr int kMemoryType = 2;
    constexpr unsigned kDevice = 2;
    unsigned type = 0;
    Query* query = query_;
    return query && query(&type, kMemoryType, address) == 0 && type == kDevice;
  }

 private:
  using Query = int(void*, int, const void*);
  std::atomic<Query*> query_{nullptr};
};

/// HIP: hipPointerGetAttributes. The numbers of its memory types changed with version 6; that
/// device memory has no host address did not.
class Hip {
 public:
  bool look() {
    if (!query_)
      query_ = find<Query>("hipPointerGetAttributes",
                           {"libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"});
    return query_ != nullptr;
  }
  bool device(const void* address) const {
    Query* query = query_;
    if (!query) return false;
    Attributes attributes{};
    return query(&attributes, address) == 0 && attributes.device_address &&
           !attributes.host_address && attributes.managed == 0;
  }

 private:
  struct Attributes {
    int type;
    int device;
    void* device_address;
    void* host_address;
    int managed;
    unsigned flags;
    std::uint64_t room[8];  // for what later versions add
  };
  using Query = int(Attributes*, const void*);
  std::atomic<Query*> query_{nullptr};
};

/// Level Zero: zeMemGetAllocProperties, which asks in a context. One of Hob's own for each driver:
/// drivers know all their memory in each.
class LevelZero {
 public:
  bool look() {
    const std::lock_guard guard(lock_);
    if (query_) return true;
    static constexpr std::initializer_list<const char*> kLibraries = {"libze_loader.so.1",
                                                                      "libze_loader.so"};
    auto* query = find<Query>("zeMemGetAllocProperties", kLibraries);
    auto* drivers = find<Drivers>("zeDriverGet", kLibraries);
    auto* context = find<CreateContext>("zeContextCreate", kLibraries);
    if (!query || !drivers || !context) return false;
    std::uint32_t count = kMost;
    std::array<void*, kMost> found{};
    if (drivers(&count, found.data()) != 0) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const ContextDescription description{kContextDescription, nullptr, 0};
      if (context(found[i], &description, &contexts_[contexts_found_]) == 0) ++contexts_found_;
    }
    if (contexts_found_ != 0) query_ = query;
    return contexts_found_ != 0;
  }
  bool device(const void* address) const {
    Query* query = query_;
    if (!query) return false;
    for (std::uint32_t i = 0; i < contexts_found_; ++i) {
      Properties properties{kMemoryProperties, nullptr, 0, 0, 0};
      constexpr int kDevice = 2;
      if (query(contexts_[i], address, &properties, nullptr) == 0 && properties.type == kDevice)
        return true;
    }
    return false;
  }

 private:
  static constexpr std::uint32_t kMost = 8;
  static constexpr int kContextDescription = 0xd, kMemoryProperties = 0x17;
  struct ContextDescription {
    int structure;
    const void* next;
    std::uint32_t flags;
  };
  struct Properties {
    int structure;
    void* next;
    int type;
    std::uint64_t id, page;
  };
  using Query = int(void*, const void*, Properties*, void**);
  using Drivers = int(std::uint32_t*, void**);
  using CreateContext = int(void*, const ContextDescription*, void**);
  std::mutex lock_;
  std::atomic<Query*> query_{nullptr};
  std::array<void*, kMost> contexts_{};
  std::uint32_t contexts_found_ = 0;
};

/// Never destroyed: programs may use MPI in their own destructors.
struct Runtimes {
  Cuda cuda;
  Hip hip;
  LevelZero level_zero;
};
Runtimes& runtimes() {
  static auto* all = new Runtimes;
  return *all;
}

}  // namespace

void look_for_accelerators() {
  Runtimes& all = runtimes();
  const bool cuda = all.cuda.look(), hip = all.hip.look(), level_zero = all.level_zero.look();
  if (cuda || hip || level_zero) accelerator_loaded.store(true, std::memory_order_relaxed);
}

bool asked_accelerator(const void* address) noexcept {
  const Runtimes& all = runtimes();
  return all.cuda.device(address) || all.hip.device(address) || all.level_zero.device(address);
}

}  // namespace hob::mpi
