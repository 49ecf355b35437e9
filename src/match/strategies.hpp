#pragma once

#include <memory>

#include "match/engine.hpp"

namespace hob::match {

/// The makers of the strategies, for make_engine() alone. They rely on a valid Config.
std::unique_ptr<Engine> make_flat_engine(const Config& config);
std::unique_ptr<Engine> make_list_engine(const Config& config);
std::unique_ptr<Engine> make_lla_engine(const Config& config);
std::unique_ptr<Engine> make_source_array_engine(const Config& config);
std::unique_ptr<Engine> make_hash_bins_engine(const Config& config);

}  // namespace hob::match
