"""The rules for source text: the direction of includes, no circles of includes, words that may not be committed, and
names that only GCC's C++ library has. Fails, naming file and line, when the tree breaks a rule.

python3 arrows.py ROOT
"""

import os
import pathlib
import re
import sys

# A room may include itself and the rooms before it.
ORDER = ["base", "device", "task", "collectives", "links", "topology", "engines", "watch", "plan", "job", "c", "mpi"]
# Folders beside the rooms: they may include any room, and no room may include them.
BESIDE = ["tools", "bench", "apps", "tests", "lab"]
# The laboratory's rooms, in the same way; its other folders are commands, which may include everything. Nothing outside of lab/ may
# include one of its folders.
LAB_ORDER = ["chains", "simulate", "samples"]
# Where includes in quotes begin. Below each there is no circle of files.
ROOTS = ["src", "tools", "bench", "lab"]
# Folders of mpi/ in the same way.
MPI_ORDER = ["native", "job", "requests", "calls"]
# The rooms that may know MPI itself.
KNOW_MPI = ["links", "mpi"]
WORDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")

# The wheel is compiled with libc++. json reads bytes by std::char_traits of their type, which libc++ has for characters only.
NOT_IN_LIBCXX = re.compile(r"#\s*include\s*<(?:bits|ext)/|\b__gnu_cxx::|\bstd::execution::|\bchar_traits<(?!char|wchar_t)"
                           r"|\bbasic_string(?:_view)?<(?!char|wchar_t|C)|\bjson::from_(?:cbor|msgpack|ubjson|bson)\(")

# An error of standard error is an exception there: print_message() of base/messages.hpp ignores it.
THROWING = re.compile(r"fmt::print\(\s*stderr|^\s*stderr,")

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
INCLUDING = {".cpp", ".hpp", ".c", ".h", ".def"}
READ = INCLUDING | {".py", ".txt", ".cmake", ".md", ""}


def files(root):
    """Text files of the tree, without build directories, packages and hidden files."""
    for path in sorted(root.iterdir()):
        if path.name.startswith((".", "build")) or path.name in ("corpus", "dist", "__pycache__"):
            continue
        if path.is_dir():
            yield from files(path)
        elif path.suffix in READ:
            yield path


def room_of(root, path):
    parts = path.relative_to(root).parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def folder_of(root, path):
    """The folder inside its room."""
    parts = path.relative_to(root).parts
    return parts[2] if parts[0] == "src" and len(parts) > 3 else None


def wrong_mpi_include(folder, target):
    """Why a file of a folder of mpi/ may not include `target`; None if it may. Folders outside of the order may include any folder."""
    parts = target.split("/")
    if folder not in MPI_ORDER or len(parts) < 3 or parts[0] != "mpi":
        return None
    if parts[1] not in MPI_ORDER or MPI_ORDER.index(parts[1]) > MPI_ORDER.index(folder):
        return f"mpi/{folder}/ includes {target}; the order is {' < '.join(MPI_ORDER)}"
    return None


def wrong_include(room, bracket, target):
    """Why a file of `room` may not include `target`; None if it may."""
    if room is None:
        return None
    if target == "mpi.h" and room not in KNOW_MPI:
        return f"{room}/ includes <mpi.h>; only {', '.join(KNOW_MPI)}/ may"
    first = target.split("/")[0]
    if first in BESIDE and bracket == '"':
        return f"{room}/ includes {target}; no room may include {first}/"
    if first in ORDER and ORDER.index(first) > ORDER.index(room) and "/" in target:
        return f"{room}/ includes {target}; {first}/ stands above it"
    if ".." in target.split("/"):
        return f"{target} leaves its room by '..'; includes start at src/"
    return None


def wrong_lab_include(lab, parts, target):
    """Why a file may not include `target`, of a folder of lab/; None if it may. `parts`: of the file's path."""
    first = target.split("/")[0]
    if "/" not in target or first not in lab:
        return None
    if parts[0] != "lab":
        return f"{parts[0]}/ includes {target}; nothing outside of lab/ may"
    room = parts[1]
    if room in LAB_ORDER and (first not in LAB_ORDER or LAB_ORDER.index(first) > LAB_ORDER.index(room)):
        return f"lab/{room}/ includes {target}; the order is {' < '.join(LAB_ORDER)}"
    return None


def includes_of(root):
    """The files that each file below `root` includes, with file and line. A header and its source count as one file."""
    found = {}
    for path in files(root):
        if path.suffix not in INCLUDING:
            continue
        own = path.relative_to(root).with_suffix("")
        included = found.setdefault(own, {})
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            include = INCLUDE.match(line)
            if include is None or include[1] != '"':
                continue
            # From the root of includes, or beside the file itself.
            for target in (root / include[2], path.parent / include[2]):
                if target.is_file() and target.suffix in INCLUDING:
                    other = pathlib.Path(os.path.relpath(target, root)).with_suffix("")
                    if other != own:
                        included.setdefault(other, (path, number))
                    break
    return found


def reached(graph, start):
    """All files that `start` includes, directly or through others."""
    found = set()
    left = [start]
    while left:
        for other in graph.get(left.pop(), ()):
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def circles(root, base):
    """Each group of files that include each other, at the first include of the circle."""
    graph = includes_of(root / base)
    behind = {file: reached(graph, file) for file in graph}
    told = set()
    for file in sorted(graph):
        circle = sorted(other for other in behind[file] if file in behind.get(other, ()))
        if file not in circle or file in told:
            continue
        told.update(circle)
        path, number = next(graph[file][other] for other in sorted(graph[file]) if other in circle)
        names = ", ".join(map(str, circle))
        yield f"{path.relative_to(root)}:{number}: a circle of {len(circle)} files, header and source as one: {names}"


def problems(root):
    """Every breach of a rule, as "file:line: why"."""
    root = pathlib.Path(root)
    # Folders of lab/ that no other root of includes has.
    lab = {folder.name for folder in root.glob("lab/*/") if not (root / "src" / folder.name).is_dir()} - {"tests"}
    for path in files(root):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        shown = path.relative_to(root)
        room = room_of(root, path)
        if room is not None and room not in ORDER:
            yield f"{shown}:1: room {room}/ has no place in the order {' < '.join(ORDER)}"
            continue
        for number, line in enumerate(lines, 1):
            word = WORDS.search(line)
            if word:
                yield f"{shown}:{number}: the word {word[1]}"
            include = INCLUDE.match(line) if path.suffix in INCLUDING else None
            gnu = NOT_IN_LIBCXX.search(line) if path.suffix in INCLUDING and shown.parts[0] in ROOTS else None
            if THROWING.search(line) and path.suffix in INCLUDING and shown.parts[0] in ROOTS:
                yield f"{shown}:{number}: use print_message()"
            if gnu:
                yield f"{shown}:{number}: libc++, which the wheel has, lacks {gnu[0]}"
            why = wrong_include(room, include[1], include[2]) if include else None
            if include and room == "mpi" and why is None:
                why = wrong_mpi_include(folder_of(root, path), include[2])
            if include and include[1] == '"' and why is None:
                why = wrong_lab_include(lab, shown.parts, include[2])
            if why:
                yield f"{shown}:{number}: {why}"
    for base in ROOTS:
        if (root / base).is_dir():
            yield from circles(root, base)


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print(*found, f"{len(found)} problems", sep="\n")
    sys.exit(bool(found))
