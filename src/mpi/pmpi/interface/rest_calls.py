"""C++ of the first thing that a wrapper asks: whether the call is the library's alone."""

from overlap_calls import bytes_started, is_concerned, is_watched_start
from thread_calls import has_parameter, starts_simply


def only_counted(call, slot):
    """C++ that counts a call on a window, if that is all there is to do, in what `slot` says."""
    which = call.row.counted
    if which in ("gets", "atomics"):
        counted = f"counted_{which[:-1]}({slot}, win, target_rank)"
    else:
        counted = f"counted({slot}, win, &UntrackedWindow::{which})"
    return f"counted_request({slot}, {counted})" if has_parameter(call, "request") else counted


def at_rest(call):
    """C++ that is true if a call is the library's alone, asked for the most frequent case first; "" if that is not known
    so soon."""
    row, tests = call.row, ["at_rest(hob_concerns)"]
    if starts_simply(call):
        tests = ["(at_rest(hob_concerns) || threads_at_rest(hob_concerns))"]
    if is_concerned(call):
        tests.append(f"!overlap_thread::may_be_large({bytes_started(call)})")
    elif is_watched_start(call):
        return ""
    if row.counted:
        tests.append(only_counted(call, "untracked_windows.last"))
    elif row.completes and row.untracked:
        tests.append("requests::none_alive()")
    elif row.timed:
        tests.append("all_windows.timed.passes()")
    elif row.untracked:
        tests.append(row.untracked)
    elif not row.only_tracked and row.untracked is None:
        return ""
    return " && ".join(tests)
