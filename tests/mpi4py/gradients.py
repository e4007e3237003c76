"""The sample application apps/gradients, with mpi4py and numpy on Debian's MPIs: gradients.py SOURCE BUILD MPI."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("mpi4py_run", str(HERE / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(run)
import jobs  # noqa: E402

CASES = [("mpi", 1, "--mode blocking", True), ("mpi", 2, "", True), ("host", 3, "", True), ("kernel", 4, "--bound", True),
         ("kernel", 3, "--pieces 4", True), ("mpi", 2, "--pieces 100 --mode blocking --bound", True),
         ("kernel", 2, "--plant-error", False)]


def main():
    source, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    mpi = run.MPIS[sys.argv[3]](sys.argv[3], build)
    mpi.prepare()
    variables = mpi.numpy_environment()
    failed = 0
    for engine, ranks, words, wanted in CASES:
        before = [] if engine == "mpi" else [build / "bin" / "lapwing", "run", "--report", "--engine", engine, "--"]
        status, output = jobs.execute([*before, *mpi.launcher(ranks), mpi.wheel.python, source / "apps/gradients/gradients.py",
                                       "--quick", "--json", *words.split()], run.RUN_LIMIT, variables)
        results = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        good = (status == 0) == wanted and [result["verification"]["passed"] for result in results] == [wanted] and \
            (engine == "mpi" or f"on {engine}" in output)
        print(f"{mpi.name}, {engine}: gradients {words} on {ranks} ranks: {'ok' if good else 'FAILED'}", flush=True)
        if not good:
            print(f"exit status {status}\n{output}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
