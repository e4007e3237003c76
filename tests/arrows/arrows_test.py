"""Fails, naming file and line, when the tree breaks a rule of arrows.py.

python3 arrows_test.py ROOT
"""

import sys

from arrows import problems


def main():
    found = list(problems(sys.argv[1]))
    for problem in found:
        print(problem)
    print(f"{len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
