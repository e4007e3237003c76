#!/usr/bin/python3
"""Compares `lapwing predict` on networks of links with SimGrid, where messages on a link share its bandwidth: the same lists
on the same network.

compare_with_simgrid.py [TOOL]

Needs Debian's python3-simgrid, and takes some minutes. Links have 1 GB/s and 100 ns, a task takes 500 ns."""

import collections
import json
import subprocess
import sys
import tempfile

RANKS = {256: {"torus:16x16": ("TORUS", "16,16"), "fat-tree:16x16": ("FAT_TREE", "2;16,16;1,16;1,1"),
               "fat-tree:16x16:1x4": ("FAT_TREE", "2;16,16;1,4;1,1")},
         1024: {"torus:32x32": ("TORUS", "32,32"), "fat-tree:32x32": ("FAT_TREE", "2;32,32;1,32;1,1"),
                "fat-tree:32x32:1x8": ("FAT_TREE", "2;32,32;1,8;1,1")}}
CASES = {256: [("alltoall", "pairwise:window=1", "16Ki"), ("allreduce", "rabenseifner", "1Mi"), ("allgather", "ring", "16Ki"),
               ("broadcast", "scatter_recursive_doubling", "1Mi")],
         1024: [("allreduce", "rabenseifner", "1Mi"), ("broadcast", "scatter_recursive_doubling", "1Mi"),
                ("broadcast", "binomial", "1Mi")]}
LATENCY, TASK, PER_BYTE, HOP = 100e-9, 500e-9, 1e-9, 100e-9


def lists_of(tool, ranks, collective, algorithm, size):
    words = [tool, "explain", collective, "--ranks", str(ranks), "--algorithm", algorithm, "--bytes", size, "--format", "json"]
    return [one["tasks"] for one in json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)["lists"]]


def by_simgrid(lists, topology, parameters):
    import simgrid

    def send_in_order(rank, queue, filled, count):
        """The sending interface: one message after the other, as `predict` has it."""
        for _ in range(count):
            filled.acquire()
            peer, size = queue.popleft()
            simgrid.Mailbox.by_name(f"{rank}-{peer}").put(b"", size)

    def run(tasks, rank):
        posted, queue, filled = collections.defaultdict(collections.deque), collections.deque(), simgrid.Semaphore(0)
        count = sum(task["kind"] == "send" for task in tasks)
        simgrid.Actor.create(f"s{rank}", simgrid.this_actor.get_host(), send_in_order, rank, queue, filled, count)
        for task in tasks:
            if task["kind"] == "recv":
                posted[task["peer"]].append(simgrid.Mailbox.by_name(f"{task['peer']}-{rank}").get_async())
            elif task["kind"] == "send":
                simgrid.this_actor.sleep_for(TASK + LATENCY)
                queue.append((task["peer"], max(task["source"]["length"], 1)))
                filled.release()
            elif task["kind"] == "wait":
                for _ in range(task["count"]):
                    comm, _payload = posted[task["peer"]].popleft()  # both must live until it is complete
                    comm.wait()
                    simgrid.this_actor.sleep_for(TASK)

    engine = simgrid.Engine(["simgrid", "--cfg=network/latency-factor:1", "--cfg=network/bandwidth-factor:1",
                             "--cfg=network/crosstraffic:0", "--cfg=network/weight-S:0", "--log=root.thres:error"])
    with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8") as file:
        file.write(f"""<?xml version='1.0'?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-{len(lists) - 1}" speed="1Gf" bw="1GBps" lat="100ns" topology="{topology}"
 topo_parameters="{parameters}" sharing_policy="SPLITDUPLEX"/></platform>""")
        file.flush()
        engine.load_platform(file.name)
    for rank, tasks in enumerate(lists):
        simgrid.Actor.create(f"r{rank}", simgrid.Host.by_name(f"n{rank}"), run, tasks, rank)
    engine.run()
    return simgrid.Engine.clock


def by_lapwing(tool, ranks, collective, algorithm, size, network):
    constants = f"latency={LATENCY * 1e9}ns,task={TASK * 1e9}ns,per_byte={PER_BYTE * 1e9}ns,copy=0ns,copy_per_byte=0ns"
    words = [tool, "predict", collective, "--ranks", str(ranks), "--algorithm", algorithm, "--bytes", size, "--engine", "card",
             "--work", "0", "--network", network, "--hop", f"{HOP * 1e9}ns", "--constants", constants, "--json", "-"]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)["rows"][0]["engines"][0]["summary"]["base"]["median"]


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else "lapwing"
    if len(sys.argv) > 2:  # one case, since a process can have one engine
        ranks, collective, algorithm, size, topology, parameters = sys.argv[2:]
        print(by_simgrid(lists_of(tool, ranks, collective, algorithm, size), topology, parameters))
        return
    print(f"{'collective':<11}{'algorithm':<28}{'bytes':<7}{'network':<21}{'predict us':>12}{'SimGrid us':>12}{'ratio':>7}")
    for ranks, networks in RANKS.items():
        for collective, algorithm, size in CASES[ranks]:
            for network, (topology, parameters) in networks.items():
                words = [sys.executable, __file__, tool, str(ranks), collective, algorithm, size, topology, parameters]
                other = float(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
                own = by_lapwing(tool, ranks, collective, algorithm, size, network)
                print(f"{collective:<11}{algorithm:<28}{size:<7}{network:<21}{own * 1e6:12.1f}{other * 1e6:12.1f}"
                      f"{own / other:7.2f}", flush=True)


if __name__ == "__main__":
    main()
