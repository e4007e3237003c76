#!/usr/bin/python3
"""Runs MPICH's own tests of collectives (test/mpi/coll of its source package and, with mpifort.mpich, f77/coll,
f90/coll and f08/coll), with and without Lapwing.

The source is that of the installed Debian package: fetched from the configured Debian mirror once, by lists of this
script's own, and kept in the build directory, or what --source names. Each test runs by MPICH alone and by each
engine with the blocking forms taken, too, with the numbers of ranks that the source's testlist names, up to --ranks.
The table says what passes where. The exit status is 0 when every test that passes by MPICH alone passes by the
engines, and its report shows calls that were taken by the kernel engine where that was asked for.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

MODES = ["mpi", "host", "kernel"]
RUN_LIMIT = 60
# What its configure script would find out.
HAS = """LIMITS_H MEMORY_H MEMSET STDARG_H STRDUP STDINT_H STDLIB_H STRING_H STRINGS_H SYS_RESOURCE_H SYS_TIME_H UNISTD_H INTTYPES_H
         LONG_LONG LONG_DOUBLE FLOAT__COMPLEX DOUBLE__COMPLEX LONG_DOUBLE__COMPLEX _BOOL MPI_WIN_CREATE PTHREAD_H""".split()
SIZES = {"INT": 4, "LONG": 8, "LONG_LONG": 8, "SHORT": 2, "VOID_P": 8}
CONFIGURATION = "".join(f"#define {line}\n" for line in [
    *(f"HAVE_{name} 1" for name in HAS), *(f"SIZEOF_{name} {size}" for name, size in SIZES.items()),
    "POINTERINT_t long", "THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX"])
LEFT_OUT = {"gather_big": "needs 20 GB", "coll_large": "needs much memory"}
# Where the tests stand, and how a file of each is called.
SUITES = {"coll": ".c", "f77/coll": ".f", "f90/coll": ".f90", "f08/coll": ".f90"}
PARTS = (*SUITES, "include", "util", "dtpools/include", "dtpools/src")
# The package's own faults, mended in the copy that is compiled.
MENDED = {
    "nonblocking2": [("int *sendtypes", "MPI_Datatype *sendtypes"), ("int *recvtypes", "MPI_Datatype *recvtypes")],
    "nonblocking3": [("int *sendtypes", "MPI_Datatype *sendtypes"), ("int *recvtypes", "MPI_Datatype *recvtypes")],
}


def installed_version():
    output = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", "libmpich-dev"], text=True,
                            capture_output=True, check=False).stdout
    match = re.match(r"(?:\d+:)?([\d.]+)", output)
    if not match:
        raise jobs.Failure("libmpich-dev is not installed; scripts/install-dependencies build installs it")
    return match[1]


def fetch(home, version):
    """The source package, by apt with lists and a cache of its own."""
    found = sorted(home.glob(f"mpich_{version}.orig.tar.*"))
    if found:
        return found[0]
    apt = home / "apt"
    for directory in ("lists/partial", "cache/archives/partial"):
        (apt / directory).mkdir(parents=True, exist_ok=True)
    policy = subprocess.run(["apt-cache", "policy", "libmpich-dev"], text=True, capture_output=True, check=False).stdout
    mirrors = re.findall(r"(https?://\S+) (\S+)/(\S+) \S+ Packages", policy)
    if not mirrors:
        raise jobs.Failure("apt knows no mirror that has libmpich-dev; name the source by --source")
    keys = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={keys}] " if keys.is_file() else ""
    (apt / "sources.list").write_text("".join(f"deb-src {signed}{url} {suite} {part}\n" for url, suite, part in mirrors))
    options = ["-o", f"Dir::Etc::sourcelist={apt}/sources.list", "-o", "Dir::Etc::sourceparts=-",
               "-o", f"Dir::State::lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache", "-o", "APT::Sandbox::User=root"]
    for words in (["update"], ["source", "--download-only", "mpich"]):
        jobs.must(f"apt-get {' '.join(words)}", ["env", "--chdir", home, "apt-get", "-q", *options, *words], 600)
    found = sorted(home.glob(f"mpich_{version}.orig.tar.*"))
    if not found:
        raise jobs.Failure(f"the mirror has no source of MPICH {version}, which is installed")
    return found[0]


def unpack(archive, home):
    """The tests in home/source, from an archive or a directory with the unpacked source."""
    source = home / "source"
    if (source / "done").is_file() and (source / "done").read_text() == str(archive):
        return source
    shutil.rmtree(source, ignore_errors=True)
    if archive.is_dir():
        for part in PARTS:
            shutil.copytree(archive / "test" / "mpi" / part, source / part)
    else:
        with tarfile.open(archive) as opened:
            for member in opened:
                match = re.match(rf"[^/]+/test/mpi/((?:{'|'.join(PARTS)})/[^/]+)$", member.name)
                if match and member.isfile():
                    target = source / match[1]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(opened.extractfile(member).read())
    (source / "done").write_text(str(archive))
    return source


def listed(source, most):
    """By suite and test, ranks and arguments from the testlists; more ranks than `most` become `most`."""
    tests = {}
    for suite, ending in SUITES.items():
        if suite != "coll" and not shutil.which("mpifort.mpich"):
            print(f"{suite} is left out: mpifort.mpich is not installed")
            continue
        testlist = "testlist.in" if suite == "coll" else "testlist"
        for line in (source / suite / testlist).read_text().splitlines():
            words = re.sub(r"^@\w+@", "", line).split()
            if len(words) < 2 or line.startswith("#") or not words[1].isdigit():
                continue
            arguments = tuple(word[4:] for word in words[2:] if word.startswith("arg="))
            file = source / suite / f"{words[0]}{ending}"
            if file.is_file():
                tests.setdefault(file, set()).add((min(int(words[1]), most), arguments))
    return {file: sorted(runs) for file, runs in tests.items()}


def compile_test(source, home, file):
    """The program, or None with what the compiler says."""
    text = file.read_text()
    for old, new in MENDED.get(file.stem, []):
        text = text.replace(old, new)
    copy = home / "bin" / file.name
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(text)
    program = copy.with_suffix("")
    utilities = source / "util"
    if file.suffix == ".c":
        words = ["mpicc.mpich", "-I", source / "include", "-I", source / "coll", "-I", source / "dtpools" / "include", copy,
                 *sorted((source / "dtpools" / "src").glob("*.c")),
                 *[utilities / f"{part}.c" for part in ("mtest", "mtest_common", "mtest_thread", "dtypes")],
                 "-lm", "-lpthread"]
    else:
        language = file.parent.parent.name
        modules = home / "modules" / language
        modules.mkdir(parents=True, exist_ok=True)
        words = ["mpifort.mpich", f"-J{modules}", "-fallow-argument-mismatch",
                 utilities / f"mtest_{language}{'.f' if language == 'f77' else '.f90'}", copy]
    done = subprocess.run([*words, "-O1", "-w", "-o", program], text=True, capture_output=True, check=False)
    return (program, "") if done.returncode == 0 else (None, next(iter(re.findall("[Ee]rror: .*", done.stderr)), done.stderr))


def run(build, program, ranks, arguments, mode, network):
    """Whether it passes, what it said, and the report's collectives."""
    tool = build / "bin" / "lapwing"
    hosts = [tool, "cluster", "--hosts", "2", "--"] if network else []
    environment = jobs.environment("mpich", build) | jobs.NETWORKS.get(network, {})
    command = [*jobs.launcher("mpich", ranks), program, *arguments]
    if mode == "mpi":
        status, output = jobs.execute([*hosts, *command], RUN_LIMIT, environment)
        report = {}
    else:
        options = ["--blocking", "--engine", mode, *(["--network", network] if network else [])]
        status, output, report = jobs.with_report([*hosts, tool], options, command, RUN_LIMIT, environment)
    by_it = not network or report.get("network", "").startswith(f"{network} (")
    rows = report.get("collectives", []) if by_it else []
    # The last: correct calls must not be reported.
    return status == 0 and "No Errors" in output and "do not match" not in output, output, rows


def main():
    parser = jobs.parser(__doc__)
    parser.add_argument("tests", nargs="*", help="these tests only, as red3 p_bcast")
    parser.add_argument("--source", type=lambda path: pathlib.Path(path).resolve(),
                        help="MPICH's source: an archive, or a directory")
    parser.add_argument("--ranks", type=int, default=5, help="most ranks (5)")
    parser.add_argument("--network", choices=list(jobs.NETWORKS), help="on two virtual hosts that it joins, by the host engine")
    parser.add_argument("--table", type=pathlib.Path, help="write the table to this file, too")
    options = parser.parse_args()
    home = options.build / "mpich_suite"
    home.mkdir(parents=True, exist_ok=True)
    try:
        source = unpack(options.source or fetch(home, installed_version()), home)
    except (jobs.Failure, OSError) as failure:
        print(failure, file=sys.stderr)
        return 2
    tests = {file: found for file, found in listed(source, options.ranks).items()
             if not options.tests or file.stem in options.tests}
    unknown = set(options.tests) - {file.stem for file in tests}
    if unknown:
        print(f"no such tests: {' '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    for place in ("include/mpitestconf.h", "dtpools/dtpoolsconf.h"):
        (source / place).write_text(CONFIGURATION)
    modes = ["mpi", "host"] if options.network else MODES
    rows = []
    left_out = {}
    worse = []
    passed = dict.fromkeys(MODES, 0)
    taken = dict.fromkeys(MODES, 0)
    runs = 0
    began = time.monotonic()
    for file, found in tests.items():
        name = file.stem
        program, why = (None, LEFT_OUT[name]) if name in LEFT_OUT else compile_test(source, home, file)
        if program is None:
            left_out[name] = why.strip().splitlines()[0] if why.strip() else "does not compile"
            continue
        for number, arguments in found:
            what = " ".join([name, *arguments])
            runs += 1
            cells = {}
            for mode in modes:
                right, output, report = run(options.build, program, number, arguments, mode, options.network)
                calls = sum(row["taken"] for row in report)
                taken[mode] += calls
                passed[mode] += right
                cells[mode] = ("passes" if right else "fails") + (f", {calls} taken" if mode != "mpi" else "")
                if not right:
                    print(f"{what}, {number} ranks, {mode}: fails\n{output[-1500:]}", flush=True)
                    if cells["mpi"] == "passes":
                        worse.append(f"{what} with {number} ranks by {mode}")
            rows.append(f"{what:24}{number:>6}  " + "".join(f"{cells[mode]:24}" for mode in modes))
            print(rows[-1], flush=True)
    table = [f"{'test':24}{'ranks':>6}  " + "".join(f"{'MPICH' if mode == 'mpi' else mode:24}" for mode in modes), *rows, ""]
    table += [f"{runs} runs of {len(tests) - len(left_out)} tests: " + "; ".join(
        f"{'MPICH' if mode == 'mpi' else mode} passes {passed[mode]}" + ("" if mode == "mpi" else f" ({taken[mode]} calls taken)")
        for mode in modes)]
    table += [f"left out: {name} ({why})" for name, why in left_out.items()]
    table += [f"worse than MPICH alone: {one}" for one in worse]
    print("\n".join(table[len(rows) + 1:]), f"\n{time.monotonic() - began:.0f} s")
    if options.table:
        options.table.write_text("\n".join(table) + "\n")
    return 1 if worse or not runs or not all(taken[mode] for mode in modes if mode != "mpi") else 0


if __name__ == "__main__":
    sys.exit(main())
