#include "cache/config.hpp"

namespace hob::cache {

std::optional<Policy> parse_policy(std::string_view name) {
  for (std::size_t i = 0; i < kPolicyNames.size(); ++i)
    if (kPolicyNames[i] == name) return static_cast<Policy>(i);
  return std::nullopt;
}

std::string_view policy_name(Policy policy) {
  return kPolicyNames[static_cast<std::size_t>(policy)];
}

}  // namespace hob::cache
