"""What the generated wrappers have for programs with several threads: calls that the library alone serves
(src/mpi/rma/direct.hpp, src/mpi/requests/lookup.hpp, src/mpi/p2p/direct_calls.hpp)."""

import re

from calls import short


def has_parameter(call, wanted):
    return any(name == wanted for _declaration, name, *_kind in call.parameters)


def awaited(call):
    """The target of a call that waits for operations, or all of them (rma/direct.hpp)."""
    return "rank" if has_parameter(call, "rank") else "direct::kAll"


def starts_simply(call):
    """With several threads, the library alone serves a call that starts something whenever nothing is under way."""
    return call.row.among_threads == "nothing_under_way()" and call.base.startswith("I")


# What holds where threads_at_rest() does.
HOLDS_AT_REST = {"!compares_incoming()", "nothing_under_way()", "requests::nothing_shown()"}


def still_asked(condition, is_at_rest):
    """What is left of a C++ condition, of terms, where threads_at_rest() holds; or all of it."""
    terms = condition.split(" && ")
    return " && ".join(t for t in terms if not (is_at_rest and t in HOLDS_AT_REST)) or "true"


def direct(call):
    """The C++ condition under which, with several threads, the library alone serves a call; "" if there is none."""
    row = call.row
    request = str(has_parameter(call, "request")).lower()
    if row.counted == "gets":
        return f"!compares_incoming() && direct::counted_get(win, target_rank, {request})"
    if row.counted in ("puts", "accumulates"):
        return f"direct::counted(win, direct::k{row.counted.capitalize()}, {request})"
    if row.timed:
        return f"nothing_under_way() && direct::completes(win, {awaited(call)})"
    return ""


def without_hob(call, acquire):
    """C++ of the library's own call in a program with several threads; `acquire`, C++, notes what it showed."""
    direct_call = "p2p::" in (call.row.among_threads or "")
    blocks = not re.match("I|Test", call.base)
    return [
        "{",
        *(["  const p2p::DirectCall direct_call;"] if direct_call else []),
        *(["  const BlockingThread blocking;"] if blocks else []),
        *(["  AcquireIfUnwound acquire;"] if acquire else []),
        f"  const int hob_result = {call.native};",
        *(["  acquire.returned = true;", f"  {acquire}"] if acquire else []),
        "  return hob_result;",
        "  }",
    ]


def alone_among_threads(call, acquire, is_at_rest=False):
    """C++ that has the library alone serve a call in a program with several threads, where it may; `acquire` as above.
    `is_at_rest`: threads_at_rest() holds."""
    if call.row.among_threads:
        begin, *rest = without_hob(call, acquire)
        return [
            f"  if (HOB_LIKELY({still_asked(call.row.among_threads, is_at_rest)})) {begin}",
            *rest,
        ]
    test = still_asked(direct(call), is_at_rest) if direct(call) else ""
    if test and (is_at_rest or not has_parameter(call, "request")):
        return [f"  if (HOB_LIKELY({test})) return {call.native};"]
    if test:
        return [
            f"  if (HOB_LIKELY({test})) {{",
            f"  if (HOB_LIKELY(ignores_acquires())) return {call.native};",
            f"  const int hob_result = {call.native};",
            "  direct::made_request(hob_result, request, {win, target_rank, target_disp});",
            "  return hob_result;",
            "  }",
        ]
    if not (call.row.completes and call.row.untracked is not None):
        return []
    begin, *rest = without_hob(call, f'note_acquire("{call.name}");')
    test = still_asked(f"{call.row.untracked} && requests::nothing_shown()", is_at_rest)
    return [
        f"  if (HOB_LIKELY({test})) {begin}",
        *rest,
        f"  if (requests::all_prebuilt({call.row.completes})) return {call.native};",
    ]


def noted_calls(call):
    """Calls that the library alone serves with several threads and that are noted: where they are, what comes before
    and after."""
    row = call.row
    if row.counted == "atomics":
        return [("direct::counted_atomic(win)", "", "noted->add(target_rank);")]
    if row.counted in ("puts", "accumulates"):
        request = has_parameter(call, "request")
        kind = f"direct::k{row.counted.capitalize()}"
        found = f"direct::counted_own_write(win, target_rank, {kind}, {str(request).lower()})"
        made = (
            " direct::made_request(hob_result, request, {win, target_rank, target_disp});"
            if request
            else ""
        )
        return [(found, "", "noted->note();" + made)]
    if not row.timed:
        return []
    target = awaited(call)
    results = (
        f"direct::completes_results(win, {target})",
        f"const Outstanding::Seen seen = noted->before({target});",
        f'if (noted->arrived({target}, seen)) note_acquire("{call.name}");',
    )
    own = "direct::flushes_own(win, rank)"
    if call.base == "Win_flush":
        flush = (own, "const std::uint64_t flush = noted->begin_flush();", "noted->settle(flush);")
        return [results, flush]
    return [results, (own, "", "")] if call.base == "Win_flush_local" else [results]


def direct_and_noted(call):
    """C++ that serves a call likewise, and notes something."""
    blocks = []
    for found, before, after in noted_calls(call):
        blocks += [
            f"  if (auto* const noted = {found}) {{",
            f"  {before}",
            f"  const int hob_result = {call.native};",
            f"  {after}",
            "  return hob_result;",
            "  }",
        ]
    return ["  if (HOB_UNLIKELY(many_threads)) {", *blocks, "  }"] if blocks else []


def begin_at_rest(call, acquire, go_on):
    """C++ of a function that is asked first in a program with several threads, where threads_at_rest() holds; what is
    not the library's alone there goes on with `go_on`, C++, or from within the library as elsewhere. [] if there is
    nothing to ask."""
    busy = f"busy_{short(call.name)}"
    alone = [] if starts_simply(call) else alone_among_threads(call, acquire, True)
    if not alone:
        return []
    return [
        f"static {call.returns} {busy}({call.declaration});",
        f"[[gnu::noinline]] static {call.returns} alone_{short(call.name)}({call.declaration}) {{",
        *alone,
        f"  if (HOB_UNLIKELY(depth != 0)) return {busy}({call.arguments});",
        go_on,
        "}",
    ]
