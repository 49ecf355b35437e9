#pragma once

#include "pay/price.hpp"

namespace hob::cache {

/// What a trip costs, from the call of a get to the end of its flush.
using TripCost = pay::Price;

}  // namespace hob::cache
