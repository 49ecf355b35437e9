// Calls in which every rank waits for every other.
#pragma once

#include "script.hpp"

namespace fuzz {

/// Everybody waits for everybody; `form` from 0 to 9 says in which call.
void all_wait(World& world, int form);

}  // namespace fuzz
