"""The calls of the MPI interface and of a library's header, as generate.py sees them."""

import re

import plan

FAILED = "hob_result != MPI_SUCCESS"

# Calls that complete requests, and what they say of which in an object of C++.
COMPLETIONS = {
    "Wait": "{}.all();",
    "Test": "if (*flag) {}.all();",
    "Waitall": "{}.all();",
    "Testall": "if (*flag) {}.all();",
    "Waitany": "{}.one(*index);",
    "Testany": "if (*flag) {}.one(*index);",
    "Waitsome": "{}.some(*outcount, array_of_indices);",
    "Testsome": "{}.some(*outcount, array_of_indices);",
}


def short(name):
    return name.replace("MPIX_", "X_", 1) if name.startswith("MPIX_") else name[len("MPI_") :]


def extensions(text):
    """The library's extensions that plan.py knows, as procedures like those of interface.json."""
    for key in sorted(plan.CALLS):
        name = key.replace("X_", "MPIX_", 1)
        if not key.startswith("X_"):
            continue
        declared = rf"\b(int|void \*)\s*{name}\s*\(([^()]*)\)"
        found = re.search(declared, text) or re.search(declared, plan.PROTOTYPES)
        if not found:
            continue
        parameters = []
        for declaration in found.group(2).split(","):
            declaration = " ".join(declaration.split()).replace("* ", "*")
            if declaration == "void":
                continue
            word = re.search(r"(\w+)(\[\])?$", declaration).group(1)
            kind = ("COMMUNICATOR", "in") if declaration.startswith("MPI_Comm ") else ("", "in")
            if declaration.startswith("MPI_Comm *"):
                kind = ("COMMUNICATOR", "out")
            if declaration.startswith("MPI_Request *"):
                kind = ("REQUEST", "out")
            parameters.append([declaration, word, *kind])
        yield {"name": name, "returns": found.group(1), "parameters": parameters}


class Call:
    """One C function: the plain or the large-count form of a procedure."""

    def __init__(self, procedure, large):
        self.procedure = procedure
        self.large = large
        self.name = procedure["name"] + ("_c" if large else "")
        self.returns = procedure["returns"]
        self.parameters = procedure["large" if large else "parameters"]

    @property
    def declaration(self):
        return ", ".join(p[0] for p in self.parameters) or "void"

    @property
    def arguments(self):
        return ", ".join(p[1] for p in self.parameters)

    @property
    def on_stack(self):
        """Whether a few arguments are on the stack, on machines that have six or more in registers."""
        return 6 < len(self.parameters) <= 9

    @property
    def base(self):
        return short(self.procedure["name"])

    @property
    def row(self):
        return plan.row(self.base)

    @property
    def native(self):
        """C++ of the MPI library's own call."""
        return f"real::{short(self.name)}({self.arguments})"

    @property
    def hook(self):
        """Name of its hook, or None."""
        if self.row.hook and (not self.large or shares_hook(self.procedure)):
            return self.base
        return short(self.name) if plan.row(short(self.name)).hook else None


def has_parameter(call, wanted):
    return any(name == wanted for _declaration, name, *_kind in call.parameters)


def seen_communicators(call):
    """The parameters that may be MPI_COMM_WORLD, which is another one where there are ghosts."""
    return [
        name
        for _declaration, name, kind, direction in call.parameters
        if kind == "COMMUNICATOR" and direction == "in" and not call.row.whole_world
    ]


# What holds where threads_at_rest() does (wrapper.hpp).
HOLDS_AT_REST = {"!compares_incoming()", "nothing_under_way()", "requests::nothing_shown()"}


def still_asked(condition, is_at_rest):
    """What is left of a C++ condition, of terms, where threads_at_rest() holds; or all of it."""
    terms = condition.split(" && ")
    return " && ".join(t for t in terms if not (is_at_rest and t in HOLDS_AT_REST)) or "true"


def library_call(call, before, after=(), acquire=""):
    """C++ of the end of a block: the library's own call, and what comes before and after; `acquire`, C++, notes what the
    process learned by it, however it ends."""
    if acquire:
        before = [*before, "AcquireIfUnwound acquire;"]
        after = [*after, "acquire.returned = true;", acquire]
    return [
        *(f"  {line}" for line in before if line),
        f"  const int hob_result = {call.native};",
        *(f"  {line}" for line in after if line),
        "  return hob_result;",
        "  }",
    ]


def by_value(declaration):
    return "*" not in declaration and "[" not in declaration


def shares_hook(procedure):
    """The large-count form can call the same hook: it differs by wider scalars only."""
    plain, large = procedure["parameters"], procedure.get("large")
    return (
        large is not None
        and len(plain) == len(large)
        and all(p[0] == q[0] or (by_value(p[0]) and by_value(q[0])) for p, q in zip(plain, large))
    )


def adapted(call, text):
    """The standard's prototype, with a header's own type where the two are known to differ."""
    found = re.search(rf"\b{call.name}\s*\(([^;]*?)\)\s*[^;,()]*;", text)
    if not found:
        return call
    own = [" ".join(p.split()) for p in found.group(1).split(",")]
    if len(own) != len(call.parameters) or own == ["void"]:
        return call
    changed = []
    for mine, row in zip(own, call.parameters):
        stars_differ = mine.count("*") + mine.count("[") != row[0].count("*") + row[0].count("[")
        const_differs = mine.startswith("const ") != row[0].startswith("const ")
        if stars_differ or const_differs:
            base = (
                re.sub(r"\s*\b\w+(\[\])?$", "", mine)
                if re.search(r"[\w\]]$", mine) and " " in mine
                else mine
            )
            suffix = "[]" if mine.endswith("[]") else ""
            row = [f"{base} {row[1]}{suffix}", *row[1:]]
        changed.append(row)
    key = "large" if call.large else "parameters"
    call.procedure[key] = changed
    return Call(call.procedure, call.large)
