"""README, docs/ and the pages beside the code are true: variables, commands and options exist, links lead to pages, and commands can be pasted.

python3 docs_test.py ROOT TOOL

Blocks marked `sh` are run, line by line, in one directory; they start no MPI program.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, TOOL = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
LAB = (ROOT / "lab").is_dir()  # the laboratory may be deleted; then links to it lead nowhere, and its commands are missing
PAGES += sorted((ROOT / "lab/docs").glob("*.md"))
PAGES += sorted(page for folder in ("src", "tests", "lab") for page in (ROOT / folder).rglob("README.md"))  # beside the code


def prose(page):
    """The text of a page without its code blocks, where # and ]( have other meanings."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """The anchors of a page's headings, as GitHub names them: the second heading of a name ends in -1, and so on."""
    found = []
    for heading in re.findall(r"^#+ +(.*?) *$", prose(page), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # of a link only its words
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        same = sum(re.fullmatch(re.escape(name) + r"(-\d+)?", one) is not None for one in found)
        found.append(f"{name}-{same}" if same else name)
    return set(found)


def targets(page):
    """The targets of a page's links and pictures, without other sites."""
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    found = re.findall(r"\]\(\s*<?([^)\s>]+)", text) + re.findall(r"^\[[^\]]+\]:\s*(\S+)", text, re.MULTILINE)
    found += re.findall(r'\b(?:src|srcset|href)="([^"\s]+)"', text)
    return [target for target in found if "://" not in target and not target.startswith("mailto:") and
            (LAB or not re.match(r"(\.\./)*lab/", target))]


def options(text):
    """The options in a text, as -o and --output."""
    return re.findall(r"(?<![\w-])-(?:\w|-[a-z-]+)(?![\w-])", text)


def tracked():
    """The paths of the files that git tracks; None if the tree is not a checkout."""
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        return None
    files = {ROOT / name for name in done.stdout.split("\0") if name}
    return files | {parent for file in files for parent in file.parents}


class Docs(unittest.TestCase):
    def test_the_reference_lists_the_variables(self):
        tables = [ROOT / "src/base/settings.def", *sorted(ROOT.glob("src/engines/*/settings.def"))]
        rows = re.findall(r'^LAPWING_SETTING\(\w+, "(\w+)", "(\w*)", (?:(\w+), )?((?:"(?:[^"\\]|\\.)*"\s*)+)\)',
                          "".join(table.read_text() for table in tables), re.MULTILINE)
        self.assertTrue(rows)
        wanted = [(name, usual, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', meaning))) for name, usual, _, meaning in rows]
        reference = (ROOT / "docs/reference.md").read_text()
        listed = re.findall(r"^\| `LAPWING_(\w+)` \| (?:`(\w+)`)? *\| (.*) \|$", reference, re.MULTILINE)
        listed = [(name, usual, meaning.replace("`", "")) for name, usual, meaning in listed]
        table = "\n".join(f"| `LAPWING_{name}` | {f'`{usual}`' if usual else ''} | {meaning} |".replace("|  |", "| |")
                          for name, usual, meaning in wanted)
        self.maxDiff = None
        self.assertEqual(listed, wanted, f"the table in docs/reference.md should be\n{table}")
        if any(agreement for _, _, agreement, _ in rows):
            equal, on_all_or_none = re.search(r"^Equal on all ranks: (.*?)\. Set on all ranks or on none: (.*?)\.", reference,
                                              re.MULTILINE | re.DOTALL).groups()
            for words, wanted_agreement in ((equal, "same"), (on_all_or_none, "set")):
                self.assertEqual(re.findall(r"LAPWING_(\w+)", words),
                                 [name for name, _, agreement, _ in rows if agreement == wanted_agreement])

    def help_of(self, *words):
        return subprocess.run([TOOL, *words, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout

    def sections_of(self, page):
        sections = re.split(r"^##+ (.*)\n", page.read_text(), flags=re.MULTILINE)
        return dict(zip(sections[1::2], sections[2::2]))

    def test_the_reference_lists_the_commands_and_their_options(self):
        def listed(text):
            return [option for row in re.findall(r"^\| (`-.*?) \|", text, re.MULTILINE) for option in options(row)]

        sections = self.sections_of(ROOT / "docs/reference.md")
        shared = listed(sections["Commands"])
        self.assertTrue(shared)
        commands = re.findall(r"^  (\w+)  +\S", self.help_of().partition("\nRun programs:")[2], re.MULTILINE)
        self.assertEqual(sorted(commands), sorted(re.findall(r"^\| `lapwing (\w+)", sections["Commands"], re.MULTILINE)))
        if LAB:
            laboratory = self.sections_of(ROOT / "lab/docs/reference.md")
            self.assertEqual(["predict", "verify"],
                             re.findall(r"^\| `lapwing (\w+)", laboratory.pop("Commands"), re.MULTILINE))
            sections |= laboratory
        described = [name for name in sections if name.startswith("lapwing ")]
        self.assertGreater(len(described), 5)
        for name in described:
            rows = [options(row) for row in re.findall(r"^  (-\S+)", self.help_of(name.removeprefix("lapwing ")), re.MULTILINE)]
            present = {option for row in rows for option in row}
            for option in listed(sections[name]):
                with self.subTest(section=name, option=option):
                    self.assertIn(option, present, "no such option")
            for row in rows:
                with self.subTest(section=name, options=row):
                    self.assertTrue({"--help"}.union(shared, listed(sections[name])).intersection(row), "not in the reference")

    @unittest.skipUnless(LAB, "no laboratory")
    def test_the_algorithms_that_are_proven_for_every_number_of_ranks(self):
        proven = {}
        for collective, name in re.findall(r"^LAPWING_PROVEN\((\w+), (\w+),", (ROOT / "lab/proven/proven.def").read_text(), re.MULTILINE):
            proven.setdefault(collective, []).append(f"`{name}`")
        table = "\n".join(f"| {collective} | {', '.join(names)} |" for collective, names in proven.items())
        self.assertIn(f"| collective | algorithms that are proven for every number of ranks |\n|---|---|\n{table}\n\n",
                      (ROOT / "lab/docs/proofs.md").read_text())
        self.assertIn(f"- {sum(map(len, proven.values()))} algorithms are [proven for every", (ROOT / "CHANGELOG.md").read_text())

    def test_links_lead_somewhere(self):
        files = tracked()
        count = 0
        for page in PAGES:
            for target in targets(page):
                path, _, anchor = target.partition("#")
                there = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.name, target=target):
                    count += 1
                    self.assertTrue(there.exists(), "no such file")
                    if files is not None:
                        self.assertIn(there, files, "the file is not in the repository")
                    if anchor:
                        self.assertIn(anchor, anchors(there), f"no such heading in {there.name}")
        self.assertGreater(count, 50)

    def test_results_are_linked(self):
        linked = {(page.parent / target.partition("#")[0]).resolve() for page in PAGES for target in targets(page)}
        saved = {file for folder in ("docs/results", "lab/docs/results") for file in (ROOT / folder).rglob("*") if file.is_file()}
        self.assertEqual(saved - linked, set(), "no page links these files")

    def test_files_that_are_named_exist(self):
        folders = {"src", "tools", "tests", "bench", "scripts", "apps", "include"} | ({"lab"} if LAB else set())
        folders |= {room.name for room in (ROOT / "src").iterdir() if room.is_dir()}
        for page in PAGES:
            if page.name == "CHANGELOG.md":  # it also names options that were removed
                continue
            for name in re.findall(r"`(\w+/[\w./-]*)`", prose(page)):
                if name.split("/")[0] in folders:
                    with self.subTest(page=page.name, file=name):
                        self.assertTrue((ROOT / name).exists() or (ROOT / "src" / name).exists())

    def test_rows_of_a_table_have_as_many_cells(self):
        for page in PAGES:
            before = None
            for line in prose(page).splitlines():
                row = line.strip()
                cells = len(re.findall(r"(?<!\\)\|", row)) if row.startswith("|") else None
                if cells and before:
                    with self.subTest(page=page.name, row=row):
                        self.assertEqual(cells, before)
                before = cells

    def test_every_page_can_be_reached_from_the_readme(self):
        seen = []
        ahead = [ROOT / "README.md"]
        while ahead:
            page = ahead.pop()
            if page in seen:
                continue
            seen.append(page)
            ahead += [there for target in targets(page)
                      if (there := (page.parent / target.partition("#")[0]).resolve()) in PAGES]
        self.assertEqual(sorted(seen), sorted(PAGES))

    def test_pages_are_installed_with_what_they_link_to(self):
        build = (ROOT / "CMakeLists.txt").read_text()
        kinds = re.search(r"^file\(GLOB_RECURSE pages RELATIVE \S+ CONFIGURE_DEPENDS (.*)\)$", build, re.MULTILINE)[1].split()
        names = re.search(r"^foreach\(page (.*) \$\{pages\}\)$", build, re.MULTILINE)[1].split()
        installed = {ROOT / name for name in names} | {file for kind in kinds for file in (ROOT / kind).parent.rglob(pathlib.Path(kind).name)}
        for page in PAGES:
            with self.subTest(page=page):
                linked = {(page.parent / target.partition("#")[0]).resolve() for target in targets(page)} - {page.parent}
                self.assertLessEqual({page, *filter(pathlib.Path.is_file, linked)}, installed)
                self.assertFalse([there for there in linked if there.is_dir() and there != ROOT])

    def test_commands_can_be_pasted(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAPWING_")}
        environment["PATH"] = f"{TOOL.parent}:{environment['PATH']}"
        environment["PYTHONPATH"] = str(ROOT / "python")
        count = 0
        passed = set()  # commands that write no file: equal ones are run once
        for page in PAGES:
            for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
                with self.subTest(page=page.name), tempfile.TemporaryDirectory() as directory:
                    # Programs that the page shows, by the comment that names them.
                    for name, program in re.findall(r"^```python\n# (\S+[.]py)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
                        (pathlib.Path(directory) / name).write_text(program)
                    for command in block.splitlines():
                        if command in passed or (not LAB and re.match(r"lapwing (predict|verify)\b", command)):
                            continue
                        files = os.listdir(directory)
                        done = subprocess.run(command, shell=True, cwd=directory, env=environment, timeout=200,
                                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
                        count += 1
                        if os.listdir(directory) == files:
                            passed.add(command)
        self.assertGreater(count, 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
