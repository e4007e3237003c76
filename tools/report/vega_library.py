"""Vega, the plotting library, as one script for the page.

Debian's libjs-vega has each of Vega's modules in a file of its own, in the form for CommonJS or for script elements. The
latter do not fit together, so the modules that line plots and bars need are put behind a small `require`. Packages for
other systems carry the whole script instead (`python3 vega_library.py > vega.js`, the option LAPWING_BUNDLE_VEGA of the build).
"""

import json
import pathlib

BUNDLED = pathlib.Path(__file__).resolve().with_name("vega.js")
DIRECTORY = pathlib.Path("/usr/share/javascript/vega")
# The names by which the modules ask for each other; two of the files are named differently.
MODULES = ("util", "time", "format", "loader", "dataflow", "canvas", "scale", "scenegraph", "statistics", "expression",
           "selections", "functions", "runtime", "view", "event-selector", "parser", "transforms", "view-transforms",
           "encode", "interpreter")
FILES = {"selections": ("vega-selections.min.js", "vega-selection.min.js")}

BEGIN = "const vega = (() => { const sources = {"
END = """}; const loaded = {};
function require(name) {
  if (!(name in loaded)) {
    const module = loaded[name] = {exports: {}};
    sources[name](module.exports, module, require);
  }
  return loaded[name].exports;
}
Object.assign(require('vega-dataflow').transforms, require('vega-transforms'), require('vega-view-transforms'),
              require('vega-encode'));
return {parse: require('vega-parser').parse, View: require('vega-view').View,
        expressionInterpreter: require('vega-interpreter').expressionInterpreter};
})();"""


class LibraryError(Exception):
    pass


def source_of(directory, module):
    for name in FILES.get(module, (f"vega-{module}.min.js",)):
        try:
            return (directory / name).read_text(encoding="utf-8").split("\n//# sourceMappingURL")[0]
        except OSError:
            continue
    raise LibraryError(f"the plots need Vega, and {directory} has no {name}; install Debian's package libjs-vega "
                       "(scripts/install-dependencies report does), or name a directory with its files by --vega")


def licence_of(directory):
    """What the licence asks to go with the code: Debian's copyright file, where there is one."""
    for place in (pathlib.Path("/usr/share/doc/libjs-vega/copyright"),
                  directory.parents[1] / "doc/libjs-vega/copyright" if len(directory.parents) > 1 else None):
        if place is not None and place.is_file():
            return place.read_text(encoding="utf-8").replace("*/", "* /")
    return "Vega. Copyright 2015-2021, UW Interactive Data Lab. BSD 3-Clause License."


def script(directory=None):
    """JavaScript that defines `vega`: of this directory's files, or else what is bundled, or else Debian's. Raises LibraryError."""
    if directory is None and BUNDLED.is_file():
        return BUNDLED.read_text(encoding="utf-8")
    directory = pathlib.Path(directory or DIRECTORY)
    parts = [f"/*\n{licence_of(directory)}\n*/", BEGIN]
    parts += [f"{json.dumps('vega-' + module)}: function (exports, module, require) {{{source_of(directory, module)}\n}},"
              for module in MODULES]
    return "\n".join([*parts, END])


if __name__ == "__main__":
    print(script(DIRECTORY))
