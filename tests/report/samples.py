"""Invented results in the form of `lapwing bench --json`."""

import json
import pathlib

ENGINES = {"native": 0.12, "host": 0.35, "kernel": 0.94}  # with their overlap


def spread(middle, width=0.05):
    return {"q1": middle - abs(middle) * width, "median": middle, "q3": middle + abs(middle) * width}


def engine(name, **quantities):
    return {"engine": name, "used": "kernel" if name == "auto" else name, "confirmed": True,
            "rounds": [{quantity: value for quantity, value in quantities.items()}] * 5,
            "summary": {quantity: spread(value) for quantity, value in quantities.items()}}


def row(collective, size, method, engines, **more):
    return {"collective": collective, "bytes": size, "method": method, "engines": engines, **more}


def head(benchmark, rows, **more):
    return {"benchmark": benchmark, "lapwing": "0.2.0", "mpi": "Open MPI v4.1.4, package: Debian", "ranks": 4,
            "kernel": "Linux 6.1.0 x86_64", "hosts": ["node1", "node2", "node3", "node4"], "machines": 1, "processors": 2,
            "time": "2026-05-31T12:00:00Z", "command": ["lapwing", "bench", benchmark, "--", "mpirun", "-n", "4"],
            "jobs": [{"engine": "native", "variant": "", "launched": ["mpirun", "-n", "4", "lapwing-bench"]}], "settings": {"compute": "work"}, "rows": rows, **more}


def overlap(method="wait"):
    return head("overlap", [
        row(collective, size, method, [engine(name, base=1e-4 + size * 8e-8, total=2e-4 + size * 9e-8, overlap=share)
                                       for name, share in ENGINES.items()])
        for collective, sizes in (("MPI_Ialltoall", (4096, 65536, 1048576)), ("MPI_Ibcast", (4096, 65536, 1048576)),
                                  ("MPI_Ibarrier", (0,))) for size in sizes])


def overlap_by_steps():
    return head("overlap", [
        row("MPI_Ibarrier", 0, "wait", [engine(name, base=1e-4, overlap=share, available=share)
                                        for name, share in ENGINES.items()],
            parameter={"name": "work_share", "value": step / 10}) for step in range(1, 11)])


def latency():
    return head("latency", [row(collective, size, "latency", [engine(name, latency=2e-5 + size * 1e-9) for name in ENGINES],
                                variant=variant)
                            for collective in ("MPI_Ibarrier", "MPI_Ialltoall") for variant in ("blocking", "nonblocking")
                            for size in ((0,) if collective == "MPI_Ibarrier" else (8, 4096))])


def window():
    return head("window", [row("MPI_Ialltoall", size, "latency", [engine("kernel", latency=1e-3 * (1 + abs(window - 6) / 10))],
                               parameter={"name": "window", "value": window})
                           for size in (4096, 65536) for window in (1, 2, 4, 6, 8, 16)])


def tests():
    of_host = {0: 0.08, 2: 0.1, 10: 0.2, 100: 0.4, 1000: 0.95, 10000: 0.9, 100000: 0.75}
    return head("tests", [row("MPI_Ialltoall", 1048576, "fixed",
                              [engine("native", overlap=share * 0.9, total=0.2), engine("host", overlap=share, total=0.2),
                               engine("kernel", overlap=0.96, total=0.1)], parameter={"name": "tests", "value": calls})
                          for calls, share in of_host.items()])


def throughput():
    return head("throughput", [row("MPI_Ibcast", size, "throughput",
                                   [engine(name, flops_alone=4e10, flops_beside=4e10 * share, share=share)
                                    for name, share in ENGINES.items()]) for size in (65536, 1048576)])


def noise():
    return head("noise", [row("MPI_Ibcast", 65536, "noise",
                              [engine(name, throughput_alone=4e10, throughput_noise=4e10 * (1 - loss), loss=loss)
                               for name, loss in (("host", 0.00008 * hertz), ("kernel", 0.00004 * hertz))],
                              frequency_hz=hertz, burst_seconds=burst)
                          for burst in (50e-6, 250e-6) for hertz in (20, 100, 1000)])


def connections():
    return head("connections", [row("MPI_Ibarrier", 0, "latency", [engine("kernel", latency=latency)], variant=variant)
                                for variant, latency in (("sparse", 3.2e-5), ("dense", 5.4e-5))])


def methods():
    ways = {"native": "native", "processor copy, caller": "host", "kernel copy, caller": "host", "processor copy, progress thread": "host",
            "kernel copy, progress thread": "host", "sockets, kernel": "kernel"}
    return head("methods", [row(collective, 65536, "overhead",
                                [engine(name, base=1e-3 / (place + 1), overlap=place / 6, overhead=1e-3 / (place + 2))],
                                variant=way) for collective in ("MPI_Igather", "MPI_Ialltoall")
                            for place, (way, name) in enumerate(ways.items())])


def predict():
    """In the form of `lapwing predict --json`: without MPI and hosts, with ranks as the parameter."""
    rows = [row("MPI_Ibarrier", 0, "wait",
                [engine(name, base=1e-5 * ranks, total=2e-5 * ranks, overlap=overlap, loss=loss, slowdown=1 / (1 - loss))
                 for name, overlap, loss in (("host", 0.1, 0.02 * ranks), ("card", 1.0, 0.005 * ranks))],
                parameter={"name": "ranks", "value": ranks}, noise=noise, tests=0)
            for noise in ("10hz:2500us", "1000hz:25us") for ranks in (4, 16, 32)]
    return {"benchmark": "predict", "simulated": True, "model": "LogGP, over the task lists", "lapwing": "0.2.0", "network": "flat", "notes": ["host: overstated"],
            "command": ["lapwing", "predict", "barrier"], "time": "2026-05-31T12:00:00Z", "rows": rows}


def unknown():
    return head("warp", [row("MPI_Ifuture", size, "warp", [engine("photon", speed=size * 2.5)], parameter={
        "name": "factor", "value": size}) for size in (1, 2, 3)])


ALL = {"overlap": overlap, "poll": lambda: overlap("poll"), "fixed": lambda: overlap("fixed"),
       "steps": overlap_by_steps,
       "latency": latency, "window": window, "tests": tests, "throughput": throughput, "noise": noise,
       "connections": connections, "methods": methods, "predict": predict,
       "unknown": unknown}


def write_all(directory):
    for name, make in ALL.items():
        (pathlib.Path(directory) / f"{name}.json").write_text(json.dumps(make()))
