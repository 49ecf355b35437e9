#include "mpi/core/accelerator.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/lasting.hpp"

namespace hob::mpi {
namespace {

/// The path of an object that is loaded.
using Path = std::array<char, PATH_MAX>;

/// Of the library whose file is called `file`, or that with a version behind it. False: none is
/// loaded. By the list of what is, since dlopen() looks through all directories for a name that is
/// not, even with RTLD_NOLOAD.
bool find_loaded(std::string_view file, Path& path) {
  struct Search {
    std::string_view file;
    Path* path;
  } search{file, &path};
  return dl_iterate_phdr(
             [](dl_phdr_info* object, std::size_t, void* data) {
               const auto& wanted = *static_cast<Search*>(data);
               const std::string_view there = object->dlpi_name;
               if (!there.substr(there.rfind('/') + 1).starts_with(wanted.file)) return 0;
               if (there.size() >= wanted.path->size()) return 0;
               *std::copy(there.begin(), there.end(), wanted.path->begin()) = '\0';
               return 1;
             },
             &search) != 0;
}

/// Of a library that is loaded, however it was: Python loads its modules' where RTLD_DEFAULT does
/// not look.
template <class Function>
Function* find(const char* name, std::string_view library) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Function*>(found);
  Path path;
  if (!find_loaded(library, path)) return nullptr;
  void* handle = dlopen(path.data(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  void* found = dlsym(handle, name);
  dlclose(handle);  // one reference less: RTLD_NOLOAD has loaded nothing
  return reinterpret_cast<Function*>(found);
}

/// How many objects were ever loaded; changes whenever one more is.
unsigned long long objects_loaded() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = object->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

/// CUDA's driver: cuPointerGetAttribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE).
class Cuda {
 public:
  bool look() {
    if (!query_) query_ = find<Query>("cuPointerGetAttribute", "libcuda.so");
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
    if (!query_) query_ = find<Query>("hipPointerGetAttributes", "libamdhip64.so");
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
    static constexpr std::string_view kLibrary = "libze_loader.so";
    auto* query = find<Query>("zeMemGetAllocProperties", kLibrary);
    auto* drivers = find<Drivers>("zeDriverGet", kLibrary);
    auto* context = find<CreateContext>("zeContextCreate", kLibrary);
    if (!query || !drivers || !context) return false;
    loaded_ = true;
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
  /// It is loaded, but has no drivers before the program calls zeInit.
  bool awaited() const { return loaded_ && !query_; }
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
  std::atomic<bool> loaded_{false};
  std::atomic<Query*> query_{nullptr};
  std::array<void*, kMost> contexts_{};
  std::uint32_t contexts_found_ = 0;
};

/// Never destroyed: programs may use MPI in their own destructors.
struct Runtimes {
  Cuda cuda;
  Hip hip;
  LevelZero level_zero;
  std::atomic<unsigned long long> seen{0};  ///< objects that were loaded when they were looked for
};
Runtimes& runtimes() { return lasting<Runtimes>(); }

}  // namespace

void look_for_accelerators() {
  Runtimes& all = runtimes();
  // Programs make windows by the thousand.
  const unsigned long long loaded = objects_loaded();
  if (all.seen.exchange(loaded) == loaded && !all.level_zero.awaited()) return;
  const bool cuda = all.cuda.look(), hip = all.hip.look(), level_zero = all.level_zero.look();
  if (cuda || hip || level_zero) accelerator_loaded.store(true, std::memory_order_relaxed);
}

bool asked_accelerator(const void* address) noexcept {
  const Runtimes& all = runtimes();
  return all.cuda.device(address) || all.hip.device(address) || all.level_zero.device(address);
}

}  // namespace hob::mpi
