"""The installed ELF files: their hardening, and whether they link what the bill of materials and the licences say.

    binaries_test.py SOURCE BUILD             the binaries of a build, against its build.ninja
    binaries_test.py SOURCE BUILD --tree DIR  those of an unpacked package that was made from this build, against the bill of materials in it
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "packaging" / "components"))
import bom  # noqa: E402


def checked_when_compiled(name):
    """Whether the compiler leaves no check to the C library because it knows no buffer's size, as in libelf, which copies between mapped
    files and allocated memory only. Debian's libelf has no such checks either."""
    return re.match(r"libelf(-[0-9a-f]+)?\.so", name) is not None


def compares_canary(code):
    """Whether machine code of x86-64 reads the canary, %fs:0x28. A binary that contains __stack_chk_fail has no symbol of this name after
    strip."""
    return re.search(rb"\x64[\x48\x4c][\x2b\x33\x39\x3b\x8b][\x04\x0c\x14\x1c\x24\x2c\x34\x3c]\x25\x28\0\0\0", code) is not None


def faults_of_hardening(name, header, program_headers, dynamic, symbols, code=b""):
    """The missing hardening of one binary, from the output of readelf and its bytes."""
    faults = []
    if "DYN (" not in header:
        faults.append("is not position-independent")
    if "GNU_RELRO" not in program_headers or not re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", dynamic):
        faults.append("has not all relocations read-only")
    if not re.search(r"GNU_STACK.* RW +0", program_headers):
        faults.append("has an executable stack")
    if "TEXTREL" in dynamic:
        faults.append("has relocations in its code")
    if "__stack_chk_fail" not in symbols and not compares_canary(code):
        faults.append("has no stack protector")
    if not checked_when_compiled(name) and not re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
        faults.append("has no checks of _FORTIFY_SOURCE")
    if re.search(r"\((RPATH|RUNPATH)\).*/(work|home|tmp)/", dynamic):
        faults.append("looks for libraries in a directory of the building machine")
    return faults


def hardening(path):
    return faults_of_hardening(path.name, bom.readelf("-h", path), bom.readelf("-l", path), bom.readelf("-d", path),
                               bom.readelf("-s", "--dyn-syms", path), path.read_bytes())


def licences(document):
    """The components of the bill of materials that may not be distributed in this form."""
    faults = []
    for component in document["components"]:
        if component["type"] != "library":
            continue
        name, licence = component["name"], component["licenses"][0]["expression"]
        inside = any(entry["value"] == bom.INSIDE for entry in component["properties"])
        if inside and re.search(r"GPL", licence) and " WITH " not in licence:
            faults.append(f"{name} is linked statically: its licence, {licence}, asks for dynamic linking")
        if inside and not (source / "packaging/components" / f"LICENSE-{name}").is_file():
            faults.append(f"{name} is in a binary, but packaging/components/LICENSE-{name} is missing")
    return faults


def disagreements(document, name, libraries, archives):
    """Differences between the bill of materials and a binary: the shared libraries that it needs, the archives that it contains."""
    entry = next((entry for entry in document["components"] if entry["name"] == name), None)
    if entry is None:
        return [f"{name} is not in the bill of materials"]
    listed = {way: {item["value"] for item in entry["properties"] if item["name"] == f"lapwing:{way}"}
              for way in (bom.SHARED, bom.INSIDE)}
    faults = []
    rows = {row["name"]: row for row in bom.COMPONENTS}
    for library in libraries:
        if not any(re.search(rows[component].get("needed", "$^"), library) for component in listed[bom.SHARED]):
            faults.append(f"{name} needs {library}, which the bill of materials does not have")
    for archive in archives:
        if not any(rows[component].get("archive") == archive for component in listed[bom.INSIDE]):
            faults.append(f"{name} was linked to {archive}, which the bill of materials does not have")
    return faults


def archives_of(build):
    """The archives from outside of the build, for each binary."""
    result, output = {}, None
    for line in (build / "build.ninja").read_text().splitlines():
        if line.startswith("build "):
            output = re.match(r"build (\S+?):? ", line)[1]
        elif line.startswith("  LINK_LIBRARIES = ") and output:
            result[output] = {pathlib.Path(word).name for word in line.split() if re.match(r"/.*\.a$", word)}
    return result


def unprotected_sources(build):
    """Sources of installed binaries that are compiled without the options of cmake/hardening.cmake. Symbols alone do not show
    this, because archives of other projects contain the same symbols."""
    installed = ("src/", "tools/", "bench/program/", "bench/tune/")
    commands = json.loads((build / "compile_commands.json").read_text())
    assert commands, f"no commands in {build}"
    return [f"{entry['file']} is compiled without a stack protector" for entry in commands
            if re.search(r" -o (\S+)", entry["command"])[1].startswith(installed) and "-fstack-protector-strong" not in entry["command"]]


def test_that_faults_are_found(document):
    """The checks above find planted faults."""
    faults = faults_of_hardening("x", "EXEC (Executable file)", "GNU_STACK 0x0 0x0 0x0 0x0 0x0 RWE 0x10", "TEXTREL", "memcpy")
    assert len(faults) == 6, faults
    copied = json.loads(json.dumps(document))
    library = next(entry for entry in copied["components"] if entry["name"] == "elfutils")
    library["properties"] = [{"name": "lapwing:linked", "value": bom.INSIDE}]
    assert len(licences(copied)) == 1
    name = next(entry["name"] for entry in document["components"] if entry["type"] == "file")
    # The stack protector of a stripped library that contains __stack_chk_fail.
    with tempfile.TemporaryDirectory() as directory:
        library = pathlib.Path(directory) / "x.so"
        for option, expected in ("-fstack-protector-strong", False), ("-fno-stack-protector", True):
            subprocess.run(["cc", "-O2", option, "-shared", "-fPIC", "-s", "-x", "c", "-", "-o", library], check=True, text=True, input="""
                void use(char *);
                void run(void) { char buffer[64]; use(buffer); }
                __attribute__((visibility("hidden"))) void __stack_chk_fail(void) { for (;;); }""")
            assert ("has no stack protector" in hardening(library)) == expected, (option, hardening(library))
    assert len(disagreements(document, name, ["libunknown.so.1"], ["libunknown.a"])) == 2


def main():
    build, root = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[-1])
    tree = build != root
    bill = next(root.rglob("lapwing.cdx.json"))
    document = json.loads(bill.read_text())
    test_that_faults_are_found(document)
    faults = licences(document) + unprotected_sources(build)
    names = {entry["name"] for entry in document["components"] if entry["type"] == "file"}
    if tree:
        by_base = {pathlib.PurePath(name).name: name for name in names}
        # A wheel has no links: the library without a version in its name is a copy.
        by_base.update({base.partition(".so.")[0] + ".so": name for base, name in by_base.items() if ".so." in base})
        binaries = {path: by_base.get(path.name) for path in root.rglob("*")
                    if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"}
        archives = {}
    else:
        binaries = {root / name: name for name in names}
        archives = archives_of(root)
    for path, name in sorted(binaries.items()):
        found = hardening(path)
        sound = "position-independent, RELRO, BIND_NOW, stack protector" + ("" if checked_when_compiled(path.name) else ", fortified")
        print(f"{path.name}: {', '.join(found) or sound}")
        faults += [f"{path.name} {fault}" for fault in found]
        if name is not None:
            faults += disagreements(document, name, bom.needed(path), archives.get(name, ()))
        elif path.parent.name != "lapwing.libs":  # where auditwheel puts the shared libraries of others
            faults.append(f"{path.name} is not in the bill of materials")
    assert binaries, f"no binaries in {root}"
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(binaries)} binaries, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
