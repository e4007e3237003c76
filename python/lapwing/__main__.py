# SPDX-FileCopyrightText: 2026 The Lapwing authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command `lapwing`: becomes the tool of this package, in the same process."""

import os
import sys

from lapwing import tool_path


def main():
    tool = str(tool_path())
    os.execv(tool, [tool, *sys.argv[1:]])


if __name__ == "__main__":
    main()
