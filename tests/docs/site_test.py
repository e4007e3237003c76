"""The site, opened as a file: its search finds pages, no page asks the network for anything, and pages fit on the screen.

python3 site_test.py SITE
"""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import browser  # noqa: E402

SITE = pathlib.Path(sys.argv[1]).resolve()
FOUND = "[...document.querySelectorAll('#search-results li a')].map(one => one.getAttribute('href'))"


class Site(unittest.TestCase):
    def test_search_works_from_a_file(self):
        window = browser.Browser(60)
        self.addCleanup(window.close)
        window.call("Page.navigate", url=f"file://{SITE}/search.html?q=oversubscribe")
        window.until(f"{FOUND}.length > 0")
        self.assertIn("troubleshooting.html", " ".join(window.evaluate(FOUND)))

    def test_pages_load_nothing_from_elsewhere(self):
        pages = sorted(SITE.glob("*.html"))
        self.assertGreater(len(pages), 10)
        for page in pages:
            loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="?((?:https?:)?//[^"\s>]+)', page.read_text())
            loaded += re.findall(r'<link[^>]* rel="?stylesheet"?[^>]* href="?(https?:[^"\s>]+)', page.read_text())
            with self.subTest(page=page.name):
                self.assertEqual(loaded, [])

    def test_pages_fit_on_the_screen(self):
        # Long lines and wide tables scroll in their own boxes.
        window = browser.Browser(60)
        self.addCleanup(window.close)
        for width in (390, 1280):
            window.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
            for page in ("index", "tour", "overlap", "results", "algorithms", "reference"):
                window.call("Page.navigate", url=f"file://{SITE}/{page}.html")
                window.until(f"location.pathname.endsWith('/{page}.html') && document.readyState == 'complete'")
                with self.subTest(page=page, width=width):
                    self.assertLessEqual(window.evaluate("document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
