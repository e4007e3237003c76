"""lapwing report: one HTML page from results of `lapwing bench --json` and `lapwing predict --json`, or one SVG from timelines."""

import argparse
import os
import pathlib
import shutil
import sys

import inputs
import page
import results
import timelines
import vega_library

NOTHING_WRITTEN = 125
SOMETHING_LEFT_OUT = 1


def write(path, text):
    """Writes the whole page or nothing: an existing page stays if the new one cannot be written. A pipe or a device is written as it
    is, and so is a descriptor such as /dev/stdout."""
    if path.exists() and not path.is_file() or path.absolute().parts[1] in ("dev", "proc"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
        return
    target = path.resolve()
    beside = target.with_name(f"{target.name}.lapwing-new")
    try:
        beside.write_text(text, encoding="utf-8")
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def tell(message):
    """On standard error, without a word where it cannot be written; sys.stderr would fail again at the end."""
    try:
        os.write(2, f"lapwing report: {message}\n".encode(errors="backslashreplace"))
    except OSError:
        pass


def run(options):
    if options.output.endswith(".svg"):
        if options.title or options.vega:
            raise inputs.InputError("--title, --vega", "have no effect on a picture")
        write(pathlib.Path(options.output), timelines.picture(options.files))
        return 0
    found, left_out = results.collect(options.files)
    html = page.Page(found, left_out, options.title or "What overlaps").html(vega_library.script(options.vega))
    if options.output == "-":
        with open(1, "w", encoding="utf-8", closefd=False) as page_file:
            page_file.write(html)
    else:
        write(pathlib.Path(options.output), html)
    for error in left_out:
        tell(f"left out: {error}")
    return SOMETHING_LEFT_OUT if left_out else 0


def main():
    parser = argparse.ArgumentParser(prog="lapwing report", description=__doc__, allow_abbrev=False)
    parser.add_argument("files", nargs="+", metavar="FILE|DIRECTORY")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--title")
    parser.add_argument("--vega")
    try:
        return run(parser.parse_args())
    except (inputs.InputError, vega_library.LibraryError) as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename or 'the page cannot be written'}: {error.strerror or error}"
    tell(reason)
    return NOTHING_WRITTEN


if __name__ == "__main__":
    sys.exit(main())
