"""The pages of docs/ and those of generate.py as a site, by Sphinx with its theme Furo: scripts/docs calls it. Search needs no server."""

import pathlib
import re

from docutils import nodes

project = "Lapwing"
author = copyright = "The Lapwing authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["man", "site", "CMakeLists.txt"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_title = "Lapwing"
html_copy_source = False
# The same anchors as in the repository's own pages, so that links work in both.
myst_heading_anchors = 6
myst_links_external_new_tab = False
pygments_style = "default"
highlight_language = "none"

# The pages beside the text, in three groups.
CONTENTS = """

```{toctree}
:hidden:
:titlesonly:
:caption: Use

tour
install
overlap
guide
progress
reference
compatibility
doctor
troubleshooting
containers
security
glossary
```

```{toctree}
:hidden:
:titlesonly:
:caption: Extend

lists
applications
c-api
c-api-reference
python
algorithms
design
```

```{toctree}
:hidden:
:titlesonly:
:caption: Research

benchmarks
report
cluster
results
documents
```
"""
LABORATORY = """
```{toctree}
:hidden:
:titlesonly:
:caption: Laboratory

lab/README
lab/docs/predictions
lab/docs/proofs
lab/docs/reference
```
"""


def for_the_site(app, page, source):
    # On the site docs/ is the root, and the laboratory's pages are in lab/. Of a link to a directory or to another file only the words
    # remain.
    root = pathlib.Path(app.srcdir)
    folder = (root / page).parent

    def words(link):
        target = link[2]
        if "://" in target or target.startswith("#"):
            return link[0]
        target = target.replace("../../docs/", "../../") if page.startswith("lab/docs/") else target.replace("../docs/", "../") \
            if page.startswith("lab/") else target.removeprefix("../") if target.startswith("../lab/") else target
        path = (folder / target.partition("#")[0]).resolve()
        return f"[{link[1]}]({target})" if path.is_file() and path.is_relative_to(root) else link[1]

    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", words, source[0])
    if page == root_doc:
        source[0] += CONTENTS + (LABORATORY if (root / "lab").is_dir() else "")


def classes_by_width(app, doctree):
    # wide.css makes the letters smaller where lines are long. Long lines wrap in blocks without a table, in which
    # several columns have two or more spaces between them.
    for block in doctree.findall(nodes.literal_block):
        lines = block.astext().splitlines()
        columns = max(map(len, lines), default=0)
        block["classes"] += [name for name, limit in (("wide", 56), ("widest", 116)) if columns > limit]
        if not any(len(re.findall(r"\S {2,}\S", line)) >= 2 for line in lines) and "language-c" not in block["classes"]:
            block["classes"].append("wraps")


def setup(app):
    app.connect("source-read", for_the_site)
    app.connect("doctree-read", classes_by_width)
