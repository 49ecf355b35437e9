// fmt's formatting, compiled once. Debian has it as a shared library, which a preloaded library
// must not bring along, and compiled into every file that formats (its header-only form) it takes
// half of the time of compiling Hob. The functions here are the header-only ones; naming them makes
// the compiler emit them, and every other file includes <fmt/core.h> and calls them.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace {

[[gnu::used]] std::string (*const vformat)(fmt::string_view, fmt::format_args) = &fmt::vformat;
[[gnu::used]] void (*const assert_fail)(const char*, int, const char*) = &fmt::detail::assert_fail;

}  // namespace
