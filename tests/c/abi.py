"""Programs that were linked to the last minor version's liblapwing run with this one: no function is missing, and no type has
another layout. By abidiff (Debian: abigail-tools), against tests/c/lapwing-MAJOR.MINOR.abi.

python3 abi.py ROOT BUILD             compares; exit status 77 where abidiff is missing
python3 abi.py ROOT BUILD --write     writes the file: when a minor version begins, and before its release
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
VERSION = re.search(r"project\(lapwing VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
BASELINE = ROOT / f"tests/c/lapwing-{VERSION}.abi"
LIBRARY = (BUILD / "lib/liblapwing.so").resolve()

if shutil.which("abidiff") is None:
    print("abidiff is missing; Debian's package abigail-tools has it")
    sys.exit(77)


def write(file):
    """Writes the interface of the library, without the types behind its opaque pointers."""
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--exported-interfaces-only", "--drop-private-types",
                    "--headers-dir", ROOT / "include", "--out-file", file, LIBRARY], check=True)
    file.write_text(re.sub(r"path='[^']*/src/", "path='src/", file.read_text()))


if sys.argv[3:] == ["--write"]:
    write(BASELINE)
    sys.exit(0)
if not BASELINE.is_file():
    print(f"{BASELINE} is missing: a minor version begins with one, see tests/c/abi.py")
    sys.exit(1)
with tempfile.TemporaryDirectory() as directory:
    now = pathlib.Path(directory) / "now.abi"
    write(now)
    done = subprocess.run(["abidiff", "--no-added-syms", BASELINE, now], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
if done.returncode != 0:
    print(f"{done.stdout}\nPrograms that were linked to lapwing {VERSION}.0 may not run with this library. Undo the change, or begin the next minor "
          "version: scripts/set-version, and a file by --write.")
    sys.exit(1)
