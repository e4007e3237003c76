"""Pages of the site that are made from the source: the algorithms, the functions of the C API, the Python module.

    generate.py ROOT TOOL PAGES     writes Markdown to the directory PAGES
"""

import concurrent.futures
import inspect
import pathlib
import re
import subprocess
import sys

ROOT, TOOL, PAGES = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
MANUAL = ("lapwing", "lapwing_group_create", "lapwing_allreduce", "lapwing_plan_create", "lapwing_wait", "lapwing_message")
# The numbers of ranks, and the bytes of one rank's block, for which choices are shown.
RANKS, BYTES = (8, 64), (8, 1 << 10, 64 << 10, 1 << 20)


def explained(*words):
    """What the tool's first lines say, by the name of each; None if the algorithm declines."""
    done = subprocess.run([TOOL, "explain", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    head, _, _ = done.stdout.partition("\n\n")
    title, *lines = head.splitlines()
    found = dict(re.findall(r"^  (\w+(?: \w+)?) {2,}(.*)", "\n".join(lines), re.MULTILINE))
    return found | {"name": title.rpartition(": ")[2].partition(":")[0], "ranks": re.search(r"on (\d+) rank", title)[1]}


def rows():
    """(collective, folder, name) of each algorithm, in the order of the catalogue."""
    return re.findall(r"^LAPWING_ALGORITHM\((\w+), (\w+), (\w+)\)", (ROOT / "src/collectives/algorithms.def").read_text(),
                      re.MULTILINE)


def size(count):
    return f"{count} B" if count < 1 << 10 else f"{count >> 10} KiB" if count < 1 << 20 else f"{count >> 20} MiB"


def sentence(text):
    return f"{text[0].upper()}{text[1:]}."


def block(collective, count):
    return () if collective == "barrier" else ("--bytes", count)


def group(name, ranks):
    """The options of a group for which an algorithm can be shown: algorithms that know hosts need several hosts."""
    return ("--hosts", f"2x{ranks // 2}") if name in ("two_level", "multi_level") else ("--ranks", ranks)


def choices(collective):
    """A table of the algorithm that is chosen for each number of ranks and size."""
    sizes = BYTES[:1] if collective == "barrier" else BYTES
    lines = ["| ranks | " + " | ".join("chosen" if collective == "barrier" else size(bytes_) for bytes_ in sizes) + " |",
             "|---|" + "---|" * len(sizes)]
    for ranks in RANKS:
        names = []
        for bytes_ in sizes:
            found = explained(collective, "--ranks", ranks, *block(collective, bytes_))
            names.append(f"`{found['name']}`" if found else "-")
        lines.append(f"| {ranks} | " + " | ".join(names) + " |")
    return lines


def section(collective, names, folder):
    """A collective's part of the catalogue: which algorithms there are, and which is chosen."""
    text = [f"## {collective}", "", *choices(collective), ""]
    for name in names:
        found = explained(collective, "--algorithm", name, *block(collective, 1024), *group(name, 8))
        text += [f"### {collective}: {name}", "", sentence(found["algorithm"]), "",
                 f"- From: {found['source']}",
                 f"- On {found['ranks']} ranks{'' if collective == 'barrier' else ' with blocks of 1 KiB'}: {found['all ranks']}",
                 f"- Source: `src/collectives/{folder[name]}/`", ""]
    return text


def catalogue():
    of = {}
    folders = {}
    for collective, folder, name in rows():
        of.setdefault(collective, []).append(name)
        folders.setdefault(collective, {})[name] = folder
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        sections = list(pool.map(lambda collective: section(collective, of[collective], folders[collective]), of))
    text = ["# Algorithms", "",
            f"All {len(rows())} algorithms, as `lapwing explain` shows them. The table of each collective has the one that is chosen by the shipped cost model "
            "between hosts, one rank on each, for blocks of some sizes; `lapwing tune` measures on a machine instead. How the choice is made: "
            "[design](design.md#the-choice).", ""]
    (PAGES / "algorithms.md").write_text("\n".join(text + sum(sections, [])))


def manual():
    """The manual's pages of the C API."""
    text = ["# C API reference", "",
            "The manual pages of `lapwing.h`. [The C API](c-api.md) has the introduction.", ""]
    for name in MANUAL:
        page = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", ROOT / f"docs/man/{name}.3"], capture_output=True, text=True,
                              check=True).stdout
        body = re.sub(r'<table class="(head|foot)">.*?</table>', "", page, flags=re.DOTALL)
        # Headings of a page below the page's name, and anchors that are one page's own.
        body = re.sub(r"<(/?)h([12])", lambda tag: f"<{tag[1]}h{int(tag[2]) + 2}", body)
        body = re.sub(r'(id="|href="#)', rf"\1{name}.", body)
        # References between the pages.
        for other in MANUAL:
            body = re.sub(rf'<a class="Xr">{other}\(3\)</a>', f'<a href="#{other.replace("_", "-")}">{other}(3)</a>', body)
        text += [f"## {name}", "", "```{raw} html", body, "```", ""]
    (PAGES / "c-api-reference.md").write_text("\n".join(text))


def module():
    """The functions of the Python module, by their docstrings."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "python"))
    import lapwing
    text = ["# Python module", "", inspect.getdoc(lapwing).split("\n\n")[0], "", "Examples: [install](install.md#the-python-module).", ""]
    for name, member in vars(lapwing).items():
        if name.startswith("_") or getattr(member, "__module__", None) != "lapwing":
            continue
        call = f"{name}{inspect.signature(member)}" if inspect.isfunction(member) else name
        text += [f"## {name}", "", f"`lapwing.{call}`", "", inspect.getdoc(member), ""]
    (PAGES / "python.md").write_text("\n".join(text))


if __name__ == "__main__":
    manual()
    module()
    catalogue()
