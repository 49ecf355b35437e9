// hwloc is opened by name and privately: Hob must neither depend on it nor offer its symbols, which
// Open MPI has copies of. This is the one file that knows hwloc.

#include "heat/placement.hpp"

#include <dlfcn.h>
#include <hwloc.h>

#include <algorithm>

namespace hob::heat {

namespace {

struct Hwloc {
  void* library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  decltype(&hwloc_topology_init) init = find<decltype(init)>("hwloc_topology_init");
  decltype(&hwloc_topology_set_synthetic) set_synthetic =
      find<decltype(set_synthetic)>("hwloc_topology_set_synthetic");
  decltype(&hwloc_topology_load) load = find<decltype(load)>("hwloc_topology_load");
  decltype(&hwloc_topology_destroy) destroy = find<decltype(destroy)>("hwloc_topology_destroy");
  decltype(&hwloc_get_type_depth) type_depth = find<decltype(type_depth)>("hwloc_get_type_depth");
  decltype(&hwloc_get_obj_by_depth) by_depth = find<decltype(by_depth)>("hwloc_get_obj_by_depth");
  decltype(&hwloc_bitmap_isset) is_set = find<decltype(is_set)>("hwloc_bitmap_isset");

  bool usable() const {
    return init && set_synthetic && load && destroy && type_depth && by_depth && is_set;
  }

 private:
  template <class Function>
  Function find(const char* name) const {
    return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
  }
};

bool is_cache(hwloc_obj_t object) {
  return object->type >= HWLOC_OBJ_L1CACHE && object->type <= HWLOC_OBJ_L5CACHE;
}

hwloc_obj_t core_of(hwloc_obj_t processor) {
  hwloc_obj_t object = processor;
  while (object != nullptr && object->type != HWLOC_OBJ_CORE) object = object->parent;
  return object != nullptr ? object : processor;
}

Placement place(const Hwloc& hwloc, hwloc_topology_t topology, int rank_cpu,
                const std::vector<int>& occupied) {
  std::vector<hwloc_obj_t> processors;
  int depth = hwloc.type_depth(topology, HWLOC_OBJ_PU);
  for (unsigned i = 0; hwloc_obj_t processor = hwloc.by_depth(topology, depth, i); ++i) {
    processors.push_back(processor);
  }
  auto own = std::find_if(processors.begin(), processors.end(), [&](hwloc_obj_t processor) {
    return processor->os_index == static_cast<unsigned>(rank_cpu);
  });
  Placement result;
  if (own == processors.end()) {
    result.reason = "the rank's processor is not known to hwloc";
    return result;
  }
  bool other_core = false;
  bool shared = false;
  for (hwloc_obj_t cache = (*own)->parent; cache != nullptr; cache = cache->parent) {
    for (hwloc_obj_t processor : processors) {
      if (core_of(processor) == core_of(*own)) continue;
      other_core = true;
      if (!is_cache(cache)) continue;
      auto cpu = static_cast<int>(processor->os_index);
      if (!hwloc.is_set(cache->cpuset, processor->os_index)) continue;
      shared = true;
      if (std::find(occupied.begin(), occupied.end(), cpu) != occupied.end()) continue;
      result.cpu = cpu;
      result.cache_level = static_cast<int>(cache->attr->cache.depth);
      result.cache_bytes = cache->attr->cache.size;
      return result;
    }
  }
  result.reason = !other_core ? "there is only one core"
                  : !shared   ? "no other core shares a cache with the rank's"
                              : "every core that shares a cache with the rank's runs a rank itself";
  return result;
}

}  // namespace

Placement place_heater(int rank_cpu, const std::vector<int>& occupied, const char* synthetic) {
  static const Hwloc hwloc;
  Placement result;
  hwloc_topology_t topology = nullptr;
  if (!hwloc.usable()) {
    result.reason = "hwloc is not installed";
  } else if (hwloc.init(&topology) != 0) {
    result.reason = "hwloc does not start";
  } else {
    bool described = synthetic == nullptr || hwloc.set_synthetic(topology, synthetic) == 0;
    if (described && hwloc.load(topology) == 0) {
      result = place(hwloc, topology, rank_cpu, occupied);
    } else {
      result.reason = "hwloc cannot read the machine's topology";
    }
    hwloc.destroy(topology);
  }
  return result;
}

}  // namespace hob::heat
