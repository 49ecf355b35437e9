"""What the wrappers have for the completion of requests."""

import re

from calls import COMPLETIONS, FAILED, library_call, short, still_asked
from plan import CALLS

HEADERS = """
    mpi/requests/may_learn.hpp mpi/requests/polled.hpp mpi/requests/request.hpp mpi/requests/served.hpp
    """

CALLS.add("Request_get_status", "hook patient checked", completes="1, &request")
for name in ("all", "any", "some"):
    CALLS.add(
        f"Request_get_status_{name}",
        "hook newer patient checked",
        completes=f"{'incount' if name == 'some' else 'count'}, array_of_requests",
    )
CALLS.add("Cancel", "hook local checked")
CALLS.add(
    "Request_free Start Startall", "hook local checked", first="requests::state.inactive.forget()"
)
CALLS.add("X_Request_is_complete", "hook newer local everywhere")
for name in COMPLETIONS:
    one = name in ("Wait", "Test")
    count = "incount" if name.endswith("some") else "count"
    given = "1, request" if one else f"{count}, array_of_requests"
    CALLS.add(
        name,
        "hook patient checked",
        completes=given,
        untracked="requests::unknown_at(request)" if one else "requests::none_alive()",
        at_rest="requests::none_alive()",
        native_if=f"requests::all_native() || requests::none_given({given})",
    )


def learned(call, outputs, noted):
    if not call.row.completes:
        return None
    if "index" in outputs:
        shown = "*index != MPI_UNDEFINED && may_learn.at(*index)"
    elif "outcount" in outputs:
        shown = "may_learn.some(*outcount, array_of_indices)"
    else:
        shown = "may_learn.all()"
    done = "*flag && " if "flag" in outputs else ""
    lines = f"if ({FAILED} || ({done}{shown})) {noted}"
    if shown == "may_learn.all()" and not call.base.startswith("Request_get_status"):
        again = f"hob_result == MPI_SUCCESS{' && *flag' if done else ''}"
        lines += f"\n  if ({again}) may_learn.completed({call.row.completes});"
    return lines


def may_learn(call, requests):
    """C++ that notes what completion of these requests, their number and their array, would show."""
    one_by_one = any(name in ("index", "outcount") for _, name, _, _ in call.parameters)
    return f"  const requests::MayLearn may_learn({requests}, {str(one_by_one).lower()});"


def around(call):
    row = call.row
    if not row.completes:
        return [], []
    vain = f"hob_result == MPI_SUCCESS && !{polled(call)}"
    noted = [f"  if ({vain}) requests::note_vain_poll({row.completes});"] if polled(call) else []
    return [may_learn(call, row.completes)], noted


def polled(call):
    """C++ that says whether a call that polls requests has completed any; "" of other calls."""
    return {"Test": "*flag", "Testall": "*flag", "Testany": "*flag", "Testsome": "*outcount"}.get(
        call.base, ""
    )


def again(call):
    """The same poll as before, which found nothing."""
    if not polled(call):
        return []
    test = f"requests::polled_in_vain({call.row.completes})"
    return [f"  if ({test}) return polled_{short(call.name)}({call.arguments});"]


def helpers(call, acquire):
    """A poll of what the poll before it asked in vain (polled.hpp): the library's own call, and what Hob's own part does
    after it if it completes something."""
    found, name = polled(call), short(call.name)
    if not found:
        return []
    completed = COMPLETIONS[call.base].format("polled")
    used = [
        (declaration, parameter)
        for declaration, parameter, *_ in call.parameters
        if re.search(rf"\b{parameter}\b", completed + acquire)
    ]
    declaration, arguments = (", ".join(words) for words in zip(*used, strict=True))
    return [
        f"[[gnu::noinline]] static {call.returns} completed_{name}(",
        f"    const requests::PolledRequests& polled, {call.returns} hob_result, {declaration}) {{",
        "  const CallGuard guard;",
        may_learn(call, "polled.count(), polled.handles()"),
        f"  if (hob_result == MPI_SUCCESS) {{ {completed} }} else {{ polled.replaced(); }}",
        f"  {acquire}",
        "  return hob_result;",
        "}",
        f"[[gnu::noinline]] static {call.returns} polled_{name}({call.declaration}) {{",
        f"  const requests::PolledRequests polled({call.row.completes});",
        "  AcquireIfUnwound acquire;",
        f"  const {call.returns} hob_result = {call.native};",
        "  acquire.returned = true;",
        f"  if (HOB_LIKELY(hob_result == MPI_SUCCESS && !{found})) return hob_result;",
        f"  return completed_{name}(polled, hob_result, {arguments});",
        "}",
    ]


def among_threads(call, _acquire, is_at_rest):
    row = call.row
    if not row.completes or row.untracked is None:
        return None
    before = [] if polled(call) else ["const BlockingThread blocking;"]
    test = still_asked(f"{row.untracked} && requests::nothing_shown()", is_at_rest)
    return [
        f"  if (HOB_LIKELY({test})) {{",
        *library_call(call, before, acquire=f'note_acquire("{call.name}");'),
        f"  if (requests::all_prebuilt({row.completes})) return {call.native};",
    ]
