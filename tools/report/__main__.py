"""lapwing report: one HTML page from results of `lapwing bench --json` and `lapwing predict --json`, and recordings."""

import argparse
import os
import pathlib
import sys
import tempfile

import inputs
import page
import results
import vega_library

NOTHING_WRITTEN = 2
SOMETHING_LEFT_OUT = 1


def write(path, text):
    """Writes the whole report or nothing: an existing report stays if the new one cannot be written."""
    directory = path.resolve().parent
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=directory, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(text)
            file.close()
            os.chmod(file.name, 0o666 & ~current_umask())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def tell(message):
    """On standard error, without a word where it cannot be written; sys.stderr would fail again at the end."""
    try:
        os.write(2, f"lapwing report: {message}\n".encode(errors="backslashreplace"))
    except OSError:
        pass


def run(options):
    found, left_out = results.collect(options.files, options.tool)
    html = page.Page(found, left_out, options.title).html(vega_library.script(options.vega))
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
    parser.add_argument("--title", default="What overlaps")
    parser.add_argument("--vega")
    parser.add_argument("--tool", default="lapwing")
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
