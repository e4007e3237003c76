"""The bill of materials of a build, in CycloneDX's form: each binary that is installed, and the libraries in it or beside it.

    bom.py --version 0.3.0 --compiler "GNU 12.2.0" --prefix /usr ... --output lapwing.cdx.json --root build build/bin/lapwing ...

What a binary contains is read from the binary: its symbols show code that was linked statically or came from headers, its
dynamic section the shared libraries, its strings the libraries that it opens at run time. components.json names the licences.
A shared library without a row is an error. The same binaries give the same bytes.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

HERE = pathlib.Path(__file__).resolve().parent
COMPONENTS = json.loads((HERE / "components.json").read_text())
# Ways in which a binary can use a component.
INSIDE, SHARED, OPENED = "inside", "shared", "opened at run time"


def readelf(*arguments):
    run = subprocess.run(["readelf", "-W", *map(str, arguments)], capture_output=True, text=True, check=True,
                         env={**os.environ, "LC_ALL": "C"})
    return run.stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path))


def defined_symbols(path):
    # Number, value, size, type, binding, visibility, section, name.
    fields = (line.split() for line in readelf("-s", path).splitlines())
    return {line[7].split("@")[0] for line in fields if len(line) >= 8 and line[6] not in ("UND", "ABS", "Ndx")}


def uses(path):
    """(component's name, way of use) for all components that the binary uses."""
    found = set()
    symbols = "\n".join(defined_symbols(path))
    content = path.read_bytes()
    libraries = needed(path)
    for row in COMPONENTS:
        name = row["name"]
        if "inside" in row and re.search(row["inside"], symbols, re.MULTILINE):
            found.add((name, INSIDE))
        if "needed" in row and any(re.search(row["needed"], library) for library in libraries):
            found.add((name, SHARED))
        elif "opened" in row and b"\0" + row["opened"].encode() + b"\0" in content:
            found.add((name, OPENED))
    for library in libraries:
        if not any(re.search(row.get("needed", "$^"), library) for row in COMPONENTS):
            sys.exit(f"{path} needs {library}, which has no row in {HERE / 'components.json'}")
    return found


def version_of(row, prefixes, compiler):
    if "compiler" in row:
        name, _, version = compiler.partition(" ")
        return version if name == row["compiler"] else None
    for prefix in prefixes if "pc" in row else ():
        for folder in ("lib/*/pkgconfig", "lib*/pkgconfig", "share/pkgconfig"):
            for file in sorted(pathlib.Path(prefix).glob(f"{folder}/{row['pc']}.pc")):
                match = re.search(r"^Version:\s*(\S+)", file.read_text(), re.MULTILINE)
                if match:
                    return match[1]
    return None


def component(row, ways, prefixes, compiler):
    entry = {"type": "library", "bom-ref": row["name"], "name": row["name"]}
    version = version_of(row, prefixes, compiler) if ways - {OPENED} else None
    if version:
        entry["version"] = version
    entry["scope"] = "required" if ways - {OPENED} else "optional"
    entry["licenses"] = [{"expression": row["license"]}]
    entry["externalReferences"] = [{"type": "website", "url": row["home"]}]
    entry["properties"] = [{"name": "lapwing:linked", "value": way} for way in sorted(ways)]
    return entry


def bill(arguments):
    by_binary = {}
    for path in sorted(set(arguments.binaries)):
        name = str(path.relative_to(arguments.root)) if arguments.root else path.name
        if path.read_bytes()[:4] == b"\x7fELF":
            by_binary[name] = uses(path)
        else:
            by_binary[name] = {(row["name"], INSIDE) for row in COMPONENTS if row.get("file") == path.name}
    lapwing = {"type": "application", "bom-ref": "lapwing", "name": "lapwing", "version": arguments.version,
               "licenses": [{"expression": "BSD-3-Clause"}]}
    components = [
        {"type": "file", "bom-ref": f"file:{name}", "name": name,
         "properties": [{"name": f"lapwing:{way}", "value": library} for library, way in sorted(found)]}
        for name, found in by_binary.items()]
    every = set().union(*by_binary.values())
    rows = [row for row in COMPONENTS if any(library == row["name"] for library, _ in every)]
    components += [component(row, {way for library, way in every if library == row["name"]}, arguments.prefix,
                             arguments.compiler) for row in rows]
    dependencies = [{"ref": "lapwing", "dependsOn": [f"file:{name}" for name in by_binary]}]
    dependencies += [{"ref": f"file:{name}", "dependsOn": sorted({library for library, _ in found})}
                     for name, found in by_binary.items()]
    document = {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5",
                "version": 1, "metadata": {"component": lapwing}, "components": components, "dependencies": dependencies}
    content = json.dumps(document, sort_keys=True)
    document["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, content).urn
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="*", type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--compiler", default="", help="its CMake name and version")
    parser.add_argument("--prefix", action="append", default=[], help="where pkg-config files of libraries are")
    parser.add_argument("--root", type=pathlib.Path, help="names of binaries are relative to it")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(bill(arguments), indent=1) + "\n")


if __name__ == "__main__":
    main()
