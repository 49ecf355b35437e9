// Whether processes that this one has started may share its memory.
#pragma once

namespace hob::validation {

/// fork() gives a child the parent's shared mappings, and what it stores there leaves no trace in
/// the parent's page tables. Whether there may be such a child, or was one since this was asked
/// first: one that lives, or was waited for, or was made by fork(), however it ended. Half a
/// microsecond. Thread safe.
bool children_may_store();

}  // namespace hob::validation
