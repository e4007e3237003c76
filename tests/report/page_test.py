"""The page in headless Chromium, as a user opens it: from a file, without a network."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as tree

import samples
from browser import Browser

REPORT = os.environ["LAPWING_REPORT"]
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\"'{{}}${alert(1)}"


def hostile():
    """A result with an attack in every text field."""
    result = samples.overlap()
    result.update({key: ATTACK for key in ("benchmark", "lapwing", "mpi", "kernel", "time", ATTACK)})
    result.update(hosts=[ATTACK], command=[ATTACK], launched=[ATTACK], settings={ATTACK: ATTACK})
    for place, row in enumerate(result["rows"]):
        row.update(collective=ATTACK + str(place % 2), method=ATTACK, variant=ATTACK, parameter={"name": ATTACK, "value": place},
                   condition=ATTACK)
        for engine in row["engines"]:
            engine.update(engine=engine["engine"] + ATTACK, used=ATTACK, confirmed=False)
            engine["summary"] = {ATTACK + name: spread for name, spread in engine["summary"].items()}
    return result


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.scratch = pathlib.Path(cls.directory.name)
        (cls.scratch / "in").mkdir()
        samples.write_all(cls.scratch / "in")
        cls.make(cls.scratch / "in", "report.html")
        (cls.scratch / "few").mkdir()
        (cls.scratch / "few" / "fixed.json").write_text(json.dumps(samples.overlap("fixed")))
        cls.make(cls.scratch / "few", "few.html")
        hostile_ones = cls.scratch / "hostile"
        hostile_ones.mkdir()
        (hostile_ones / "hostile<img src=x>.json").write_text(json.dumps(hostile()))
        (hostile_ones / "<script>window.hacked=1<script>.json").write_text("[")
        cls.make(hostile_ones, "hostile.html", status=1)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def make(cls, source, name, status=0):
        done = subprocess.run([sys.executable, "-I", "-B", REPORT, source, "-o", cls.scratch / name, "--title", name],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stderr

    def setUp(self):
        self.browser.window(1280)
        self.browser.media("light")

    def open(self, name="few.html"):
        self.browser.events.clear()
        self.browser.open(self.scratch / name)

    def js(self, expression):
        return self.browser.evaluate(expression)

    def assert_quiet(self, name):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual([url for url in self.browser.requests() if not url.startswith("data:")],
                         [(self.scratch / name).as_uri()])

    def test_every_plot_is_there_and_nothing_is_fetched(self):
        self.open("report.html")
        self.browser.until("document.querySelectorAll('.canvas:not([data-drawn])').length === 0")
        self.assertGreater(self.js("document.querySelectorAll('.canvas[data-drawn] svg').length"), 28)
        # Each plot has a mark for each point that is in its data.
        missing = self.js("""[...document.querySelectorAll('.canvas')].filter(canvas => {
            const {plots} = JSON.parse(document.getElementById('plots').textContent);
            const points = plots[canvas.dataset.plot].data.find(data => data.name === 'points').values;
            return points.some(point => ![...canvas.querySelectorAll('[aria-label]')].some(
                mark => mark.getAttribute('aria-label') === point.says));
        }).map(canvas => canvas.getAttribute('aria-label'))""")
        self.assertEqual(missing, [])
        self.assert_quiet("report.html")

    def test_texts_of_files_are_no_scripts(self):
        self.open("hostile.html")
        self.assertEqual(self.js("window.hacked"), None)
        self.assertEqual(self.js("document.querySelectorAll('img, script:not([type]), iframe').length"), 2)
        self.assertIn("<img src=x onerror", self.js("document.body.innerText"))
        self.assertTrue(self.js("document.querySelectorAll('.canvas[data-drawn] svg').length > 3"))
        self.assert_quiet("hostile.html")
        # Even if an element came into the page, the page's policy would not let it run.
        self.js("document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.hacked=1\" id=in>x</p>')")
        self.js("document.getElementById('in').click()")
        self.assertEqual(self.js("window.hacked"), None)

    def test_light_and_dark(self):
        self.open()
        colour = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.querySelector('.canvas text')).fill"
        light = self.js(colour)
        self.browser.media("dark")
        self.browser.until(f"{colour} !== {json.dumps(light)}")

    def test_series_can_be_hidden(self):
        self.open()
        marks = "document.querySelectorAll('.figure .canvas [aria-label*=\"Open MPI v4.1.4 alone, 4 KiB\"]').length"
        button = "document.querySelector('.figure .legend button')"
        before = self.js(marks)
        self.assertEqual(self.js(f"{button}.textContent"), "Open MPI v4.1.4 alone")
        self.js(f"{button}.click()")
        self.browser.until(f"{marks} < {before}")
        self.assertEqual(self.js(f"{button}.getAttribute('aria-pressed')"), "false")

    def saved(self, name):
        """The content of a downloaded file, once it is complete."""
        path = self.scratch / "saved" / name
        while not path.exists():
            self.assertLess(time.monotonic(), self.browser.deadline)
            time.sleep(0.02)
        return path.read_bytes()

    def test_plots_are_saved(self):
        self.open()
        self.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(self.scratch / "saved"))
        self.js("document.querySelector('[data-save]').click()")
        picture = self.saved("overlap-fixed-overlap-mpi-ialltoall.svg").decode()
        self.assertNotIn("var(", picture)
        words = "".join(tree.fromstring(picture).itertext())
        for word in ("MPI_Ialltoall: overlap", "Lapwing's kernel engine", "64 KiB"):
            self.assertIn(word, words)
        self.assert_quiet("few.html")

    def test_print(self):
        self.browser.media("dark")
        self.open()
        self.browser.media("dark", "print")
        self.assertEqual(self.js("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertEqual(self.js("getComputedStyle(document.querySelector('nav')).display"), "none")
        self.js("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.js("document.querySelectorAll('details:not([open])').length"), 0)
        self.js("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.js("document.querySelectorAll('details[open]').length"), 0)

    def test_narrow(self):
        self.browser.window(360)
        self.open("report.html")
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 360)


if __name__ == "__main__":
    unittest.main()
