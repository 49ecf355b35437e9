"""What is said of a run, for scripts: `--json` of hob report, advise and compare."""

import json
from dataclasses import asdict
from pathlib import Path

from hob.report.advice import advise
from hob.report.next_step import next_step, ranked
from hob.report.sentences import findings, verdict
from hob.where import HobError

# Raised where a member goes or means something else, not where one is added.
SCHEMA = 1


def facts_of(run, advices=None):
    """Verdict, findings, gains, advice and the next step of a Run, as JSON's types."""
    advices = ranked(advise(run) if advices is None else advices)
    kind, sentence = verdict(run)
    step = next_step(run, advices)
    return {
        "schema": SCHEMA,
        "program": run.program,
        "verdict": {"kind": kind, "sentence": sentence},
        "times_faster": run.times_faster,
        "gains": [
            {"mechanism": name, "seconds_on_each_rank": _range(saved)} for name, saved in run.gains
        ],
        "findings": findings(run)[1:],
        "notes": run.notes,
        "advice": [
            {
                "mechanism": one.mechanism,
                "verdict": one.verdict,
                "reasons": one.reasons,
                "settings": one.settings,
                "saves_seconds_on_each_rank": one.saves / max(run.rank_count, 1),
            }
            for one in advices
        ],
        "next": asdict(step) if step else None,
    }


def _range(saved):
    return {"least": saved.least, "usual": saved.usual, "most": saved.most}


def write_json(document, target):
    """To a file; to standard output for "-"."""
    text = json.dumps(document, indent=1)
    if target == "-":
        print(text)
        return
    try:
        Path(target).write_text(text + "\n")
    except OSError as error:
        raise HobError(f"cannot write {target}: {error.strerror}") from error
