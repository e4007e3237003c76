#!/usr/bin/env python3
"""Compares the lists of `lapwing synthesize` with the best algorithm of the catalogue on two topologies, which were fixed before there was a
search: one slow port and one slow link, each with a tenth of the rate of all others. Ranks: 4, 6 and 8; collectives: allreduce, allgather,
alltoall, broadcast; blocks: 64 KiB and 1 MiB in all, that is, a P-th of it in allgather and alltoall.

    lab/scripts/compare_synthesized_lists.py simulate RESULTS
    lab/scripts/compare_synthesized_lists.py measure RESULTS RANKS TOPOLOGY COLLECTIVE rank|best [both|short]
    lab/scripts/compare_synthesized_lists.py table RESULTS

`measure` runs the lists and all algorithms of the catalogue in turns, by `lapwing tune`, on virtual hosts with the rates of the file, as root. `best`
measures the catalogue only, with the slow port or link where the best order of ranks by simulation puts it; `short` leaves the long block out.
The rate is 100 Mbit/s because the cores of one machine carry all hosts: at higher rates the cores would be measured.
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOOL = os.environ.get("LAPWING_TOOL", str(HERE.parent.parent / "build/bin/lapwing"))
RANKS = (4, 6, 8)
# What is slow: the port of the last rank, in both directions; or the link between ranks 0 and 1. It has a tenth of the rate.
TOPOLOGIES = {"slow-port": "port {last} rate 10mbit", "slow-link": "link 0-1 rate 10mbit"}
COLLECTIVES = ("allreduce", "allgather", "alltoall", "broadcast")
TOTALS = (64 << 10, 1 << 20)
PREFIX = {"allreduce": "iallreduce", "allgather": "iallgather", "alltoall": "ialltoall", "broadcast": "ibcast"}
# One packet, which a shaper passes at once after a pause: with the default, short collectives pass unshaped.
BURST = "9018"


def links(topology, ranks, results):
    """Writes the links of a topology for a number of ranks."""
    text = f"ranks {ranks}\nrate 100mbit\nlatency 60us\n{TOPOLOGIES[topology].format(last=ranks - 1)}\n"
    path = results / f"{topology}-{ranks}.links"
    path.write_text(text, encoding="utf-8")
    return path


def blocks(collective, ranks):
    divided = collective in ("allgather", "alltoall")
    return [total // ranks // 8 * 8 if divided else total for total in TOTALS]


def simulate(results):
    for topology in TOPOLOGIES:
        for ranks in RANKS:
            for collective in COLLECTIVES:
                name = f"{topology}-{ranks}-{collective}"
                done = subprocess.run(
                    [TOOL, "synthesize", collective, "--topology", links(topology, ranks, results), "--json", "--always",
                     "--bytes", ",".join(map(str, blocks(collective, ranks))), "-o", results / f"{name}.lists"],
                    stdout=subprocess.PIPE, text=True, check=True)
                (results / f"{name}.json").write_text(done.stdout, encoding="utf-8")
                print(name, flush=True)


def simulated(results, name):
    return json.loads((results / f"{name}.json").read_text(encoding="utf-8"))


def slow_hosts(topology, ranks, order):
    """The slow port or link of the virtual hosts, where host i + 1 has the rank order[i] of the links."""
    if topology == "slow-port":
        return f"{order.index(ranks - 1) + 1}:10mbit"
    return f"{order.index(0) + 1}-{order.index(1) + 1}:10mbit"


def measure(results, ranks, topology, collective, order, sizes="both"):
    """Measures the lists and the catalogue in rank order, or the catalogue in its best order of ranks, by simulation."""
    results = results.resolve()
    name = f"{topology}-{ranks}-{collective}"
    hosts = list(range(int(ranks)))
    lists = ["--algorithm", f"{PREFIX[collective]}=file:{results / name}.lists"]
    if order == "best":
        hosts, lists = simulated(results, name)[-1]["any_order"]["order"], []
    subprocess.run(
        [TOOL, "cluster", "--hosts", ranks, "--rate", "100mbit", "--burst", BURST, "--slow", slow_hosts(topology, int(ranks), hosts), "--",
         TOOL, "tune", "--engine", "kernel", "--collective", PREFIX[collective],
         "--bytes", ",".join(map(str, blocks(collective, int(ranks))[:1 if sizes == "short" else None])), *lists,
         "--rounds", "3", "--time", "10", "-o", results / f"{name}-{order}.tuning.json", "--", "mpirun", "-n", ranks],
        check=True)


def measured(results, name, order, collective, block):
    """Returns the seconds of the lists, or None, and those of the catalogue by algorithm; empty where it was not measured."""
    path = results / f"{name}-{order}.tuning.json"
    if not path.exists():
        return None, {}
    found = {}
    for one in json.loads(path.read_text(encoding="utf-8"))["tables"]:
        for row in one.get("measured", []):
            if row.get("collective") == collective and row.get("bytes") == block:
                found.update(row["seconds"])
    lists = [found.pop(algorithm) for algorithm in list(found) if algorithm.startswith("file:")]
    return (lists[0] if lists else None), found


def compared(seconds, algorithm, other):
    return f"{algorithm:27} {other * 1e3:8.2f} {seconds / other - 1:+5.0%}"


def table(results):
    print("ms; after each time of the catalogue: the lists' time over it\n"
          f"links      ranks collective    block    | simulated: lists    bound  {'catalogue, rank order':43}{'best order':43}"
          f"| measured: lists  {'catalogue, rank order':43}best order")
    for topology in TOPOLOGIES:
        for ranks in RANKS:
            for collective in COLLECTIVES:
                name = f"{topology}-{ranks}-{collective}"
                for row, block in zip(simulated(results, name), blocks(collective, ranks)):
                    rank, best = row["catalogue"][0], row["any_order"]
                    line = (f"{topology:10} {ranks:5} {collective:10} {block:8} | {row['seconds'] * 1e3:16.2f} {row['bound'] * 1e3:8.2f}  "
                            f"{compared(row['seconds'], rank['algorithm'], rank['seconds'])} "
                            f"{compared(row['seconds'], best['algorithm'], best['seconds'])}")
                    own, others = measured(results, name, "rank", collective, block)
                    if own:
                        line += f" | {own * 1e3:15.2f}  "
                        for times in (others, measured(results, name, "best", collective, block)[1]):
                            if times:
                                line += compared(own, min(times, key=times.get), min(times.values())) + " "
                    print(line.rstrip())


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("simulate", "measure", "table"):
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    {"simulate": simulate, "measure": measure, "table": table}[sys.argv[1]](directory, *sys.argv[3:])
