"""The pages of hob report, hob bench paper and the demo in headless Chromium, on a desktop and on a phone.

judge.js says what is wrong with a page. Skipped where no Chromium is installed or it does not start."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import fabric_rows
import sample
from support import write_json

from hob import demo
from hob.benches import fabric, paper
from hob.paperfigures import FIGURES
from hob.report import charts
from hob.report.data import Run
from hob.report.page import page

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTHS = (1200, 360)
MOST_TOLD = 12

# Frames, since a window of Chromium may be no narrower than 500 pixels.
AROUND = """<!DOCTYPE html><meta charset="utf-8"><title>frames</title><body><script>%s</script><script>
const frames = %s.map((text) => %s.map((width) => {
  const frame = document.createElement("iframe");
  frame.style.border = 0;
  frame.width = width;
  frame.height = 900;
  frame.srcdoc = text;
  document.body.append(frame);
  return frame;
}));
onload = () => {
  const found = frames.map((both) => both.map((frame) => judge(frame.contentWindow)));
  document.body.textContent = JSON.stringify(found);
};
</script>"""


class Browser:
    def __init__(self, program):
        self.program = program

    def dom(self, text, limit=30):
        """(what became of a page, what it wrote to the console, all else that Chromium said).

        A Chromium that does not end within `limit` seconds is ended."""
        with tempfile.TemporaryDirectory(prefix="hob-page-", ignore_cleanup_errors=True) as folder:
            source = Path(folder, "page.html")
            source.write_text(text)
            command = [
                self.program,
                "--headless",
                "--no-sandbox",  # for root, and in containers; it opens nothing but our own page
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--enable-logging=stderr",
                f"--user-data-dir={folder}/profile",
                "--dump-dom",
                source.as_uri(),
            ]
            with subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            ) as running:
                try:
                    out, err = running.communicate(timeout=limit)
                except subprocess.TimeoutExpired:
                    os.killpg(running.pid, signal.SIGKILL)
                    out, err = running.communicate()
        console = [line for line in err.splitlines() if re.match(r"\[[^]]*:CONSOLE", line)]
        return out, console, err

    def faults(self, texts):
        """(for each page {width of the window: its faults}, what they wrote to the console)."""
        judge = Path(__file__).with_name("judge.js").read_text()
        # A page's own scripts and comments must not end the script that it is in.
        quoted = json.dumps(texts).replace("<", "\\u003c")
        out, console, err = self.dom(AROUND % (judge, quoted, list(WIDTHS)), limit=120)
        body = re.search(r"<body>(\[.*\])\s*</body>", out, re.DOTALL)
        if not body:
            raise AssertionError(f"judge.js did not end: {console}\n{err[-2000:]}")
        found = json.loads(html.unescape(body[1]))
        return [dict(zip(WIDTHS, each, strict=True)) for each in found], console


BROWSER = None


def setUpModule():
    global BROWSER
    programs = [shutil.which(name) for name in NAMES]
    if not any(programs):
        raise unittest.SkipTest(f"none is installed of: {', '.join(NAMES)}")
    BROWSER = Browser(next(filter(None, programs)))
    out, _, err = BROWSER.dom("<p>it starts</p>")
    if "it starts" not in out:
        raise unittest.SkipTest(f"{BROWSER.program} does not start: {err[-2000:]}")


def label(text, x, y):
    """A label as matplotlib draws it: a group of paths, with the text as a comment."""
    strokes = "".join(f"<path d='M {60 * i} 0 h 50 v 70 h -50 z'/>" for i, _ in enumerate(text))
    return (
        f"<g id='text_1'><!-- {text} -->"
        f"<g transform='translate({x} {y}) scale(0.1 -0.1)'>{strokes}</g></g>"
    )


def picture(*labels):
    return f"<svg width='300' height='100' viewBox='0 0 300 100'>{''.join(labels)}</svg>"


# Pages with one fault: (its kind, the body).
FAULTS = (
    ("overlap", picture(label("128-255", 10, 50), label("256-511", 52, 52))),
    ("overlap", picture("<text x=10 y=50>one</text><text x=12 y=52>other</text>")),
    ("overlap", "<p>one</p><p style='margin-top: -24px'>other</p>"),
    ("cut off", picture(label("adaptation", 280, 50))),
    ("cut off", picture("<text x=290 y=50>adaptation</text>")),
    ("cut off", picture(label("high", 50, 5))),
    ("cut off", "<div style='width: 50px; overflow: hidden'>thequickbrownfox</div>"),
    ("cut off", "<p style='text-indent: -50px'>one</p>"),
    ("wide", "<div style='width: 2000px; height: 9px'></div>"),
    ("table", f"<table><tr><td>{'<td>word' * 99}</table>"),
    ("exponent", "<p>1.09e+03 entries</p>"),
    ("exponent", picture(label("1e-05", 10, 50))),
    ("exponent", "<details><summary>more</summary><p>2E9</p></details>"),
    ("symbol", picture(label("|S_w|", 10, 50))),
    ("symbol", picture(label("$10^{3}$", 10, 50))),
    ("title", f"<h2>{'much too long ' * 5}</h2>"),
    ("small", f"<div style='width: 100px'>{picture(label('one', 10, 50))}</div>"),
)
CONSOLE = ("<script>nothing()</script>", "<script>console.error('one')</script>")

SOUND = f"""<h1>A page</h1>
<p>One <b>word</b> and <code>another</code> of 1,090.</p>
{picture(label("one", 10, 50), label("other", 100, 50), "<text x=10 y=20>third</text>")}
<div style="overflow-x: auto"><table><tr><td>1<td>2</table></div>
<details><summary>more</summary><p>cache_size</p></details>"""


def whole(body):
    style = "svg { max-width: 100%; height: auto; } p { margin: 8px; }"
    return f"<!DOCTYPE html><title>page</title><style>{style}</style><body>{body}</body>"


class Judge(unittest.TestCase):
    def test_it_sees_every_fault(self):
        found, console = BROWSER.faults([whole(body) for _, body in FAULTS])
        self.assertFalse(console)
        for (kind, body), widths in zip(FAULTS, found, strict=True):
            with self.subTest(kind, body=body):
                kinds = {fault.split(":")[0] for faults in widths.values() for fault in faults}
                self.assertIn(kind, kinds)
                # What is too wide for a window is also cut off by it.
                self.assertLessEqual(kinds - {"wide", "cut off"}, {kind})

    def test_it_sees_what_goes_to_the_console(self):
        for body in CONSOLE:
            with self.subTest(body):
                self.assertTrue(BROWSER.faults([whole(body)])[1])

    def test_it_sees_none_in_a_sound_page(self):
        found, console = BROWSER.faults([whole(SOUND)])
        self.assertEqual(found, [dict.fromkeys(WIDTHS, [])])
        self.assertFalse(console)


class Pages(unittest.TestCase):
    def sound(self, **pages):
        found, console = BROWSER.faults([*pages.values()])
        self.assertFalse(console)
        for name, widths in zip(pages, found, strict=True):
            for width, faults in widths.items():
                with self.subTest(name, width=width):
                    told = "\n".join(faults[:MOST_TOLD])
                    self.assertTrue(not faults, f"{len(faults)} faults:\n{told}")

    def of_runs(self):
        runs = {"full": sample.report(), **sample.poor(), **sample.rich()}
        self.sound(**{name: page(Run(document)) for name, document in runs.items()})

    def test_of_runs(self):
        self.of_runs()

    def test_without_pictures(self):
        kept, charts.matplotlib = charts.matplotlib, None
        self.addCleanup(setattr, charts, "matplotlib", kept)
        self.of_runs()

    def test_of_the_demo(self):
        with tempfile.TemporaryDirectory() as folder:
            outcome = {
                "title": "a random graph",
                "plain": {"vertices_done": 1 << 20, "phase_seconds": 118.7},
                "hob": {"phase_seconds": 1.09, "gets": 10**9},
                "vertices": 1 << 20,
                "edges": 10**8,
                "counters": {"gets": 10**9, "hits_full": 999_950_000},
                "report": write_json(folder, sample.report(windows=1, queues=False)),
                "same": True,
            }
            path = Path(folder, "demo.html")
            demo.write_page([outcome], 8, "each its own node over TCP", path)
            self.sound(demo=path.read_text())

    def test_of_the_fabric(self):
        rows = [
            {"what": what, "without_us": us[0], "hob_us": us[1], "ghosts_us": us[2]}
            for what, (_, us) in fabric_rows.FABRIC.items()
        ]
        hosts = {"here": "login-node-17.cluster", "there": "compute-1234.cluster"}
        self.sound(fabric=fabric.page(rows, fabric.sentences(rows, hosts), hosts))

    def test_of_the_papers(self):
        rows = [
            {
                "paper": figure.paper,
                "figure": figure.name,
                "what": figure.what,
                "state": figure.state(bool(figure.bench)),
                "question": figure.question,
                "command": f"hob bench {figure.bench}" if figure.bench else "",
                "theirs": figure.theirs,
                "ours": figure.why or "4,096 B: 200 x, 16,384 B: 1,090 x. " * 5,
            }
            for figure in FIGURES
        ]
        machine = {"cpu": "a processor with a long name", "cores": 2}
        self.sound(papers=paper._page(rows, machine, True))


if __name__ == "__main__":
    unittest.main()
