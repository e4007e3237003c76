"""`lapwing run --trace`: the file is in the Trace Event format and has every task of every list, in the order of the
list. The clocks of the hosts agree, and missing events are reported."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import jobs


class Trace(jobs.Test):
    def __init__(self, build, mpi, scratch):
        super().__init__(build, mpi)
        self.scratch = scratch

    def run(self, options, program, ranks=4, before=(), **variables):
        return jobs.execute([*before, *self.under(options, ranks, program)], 60, self.environment | variables)

    def transpose(self):
        return [self.build / "apps" / f"transpose-{self.mpi}", "64", "5"]

    def explain(self, collective, about, ranks):
        """The words of each task of each rank."""
        words = [self.tool, "explain", collective, "--algorithm", about["algorithm"], "--ranks", ranks, "--format", "text"]
        if "bytes" in about:
            words += ["--bytes", about["bytes"]]
        if "root" in about:
            words += ["--root", about["root"]]
        answer = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout
        lists = re.findall(r"^list (\d+) .*\n((?:  .*\n)*)", answer, re.MULTILINE)
        return {int(rank): [line.split() for line in tasks.splitlines()] for rank, tasks in lists}


def format_errors(trace):
    """Violations of the Trace Event format."""
    errors = []
    lanes = collections.defaultdict(list)
    named, ends = set(), collections.defaultdict(dict)
    for event in trace["traceEvents"]:
        phase = event.get("ph")
        if phase not in ("X", "M", "s", "f") or not isinstance(event.get("pid"), int) or not event.get("name"):
            errors.append(f"no such event: {event}")
        elif phase == "M":
            if event["name"] == "thread_name":
                named.add((event["pid"], event["tid"]))
        elif not isinstance(event.get("tid"), int) or not isinstance(event.get("ts"), (int, float)) or event["ts"] < 0:
            errors.append(f"not on a lane: {event}")
        elif phase == "X":
            if not isinstance(event.get("dur"), (int, float)) or event["dur"] < 0 or not event.get("cat"):
                errors.append(f"no slice: {event}")
            # In nanoseconds, as they are written, so that nothing is lost in the sum.
            begin = round(event["ts"] * 1000)
            lanes[event["pid"], event["tid"]].append((begin, begin + round(event["dur"] * 1000), event["name"]))
        else:
            ends[event["id"]][phase] = event
    for lane, slices in lanes.items():
        if lane not in named:
            errors.append(f"lane {lane} has no name")
        open_until = []
        for begin, end, name in sorted(slices, key=lambda slice: (slice[0], -slice[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            if open_until and end > open_until[-1]:
                errors.append(f"'{name}' at {begin} on lane {lane} lies across the end of another")
            open_until.append(end)
    for number, pair in ends.items():
        if set(pair) != {"s", "f"} or pair["f"]["ts"] < pair["s"]["ts"] or pair["f"].get("bp") != "e":
            errors.append(f"arrow {number}: {pair}")
        elif pair["s"]["pid"] == pair["f"]["pid"]:
            errors.append(f"arrow {number} stays at its rank")
    return errors


def by_collective(trace):
    """By (rank, number) of a collective: its slice, and its tasks in the order of the file."""
    found = collections.defaultdict(lambda: [None, []])
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] == "collective":
            found[event["pid"], event["args"]["number"]][0] = event
        elif event["ph"] == "X" and event["cat"] == "task":
            found[event["pid"], event["args"]["number"]][1].append(event)
    return found


def order_errors(test, trace, engine, ranks):
    errors = []
    lists = {}
    for (rank, number), (whole, tasks) in by_collective(trace).items():
        where = f"rank {rank}, collective {number}"
        about = whole["args"]
        if about["engine"] != engine:
            errors.append(f"{where} on {about['engine']}")
        collective = whole["name"][len("MPI_I"):].replace("bcast", "broadcast")
        same = (collective, about["algorithm"], about.get("bytes"), about.get("root"))
        if same not in lists:
            lists[same] = test.explain(collective, about, ranks)
        wanted = lists[same][rank]
        if sorted(task["args"]["index"] for task in tasks) != list(range(len(wanted))):
            errors.append(f"{where}: {same}: tasks {[task['args']['index'] for task in tasks]} of {len(wanted)}")
            continue
        last = {}
        for task in tasks:
            args, said = task["args"], wanted[task["args"]["index"]]
            peer = int(said[1]) if said[0] in ("send", "recv", "wait") else None
            if said[0] == "wait":
                amount = args.get("count") == int(said[2])
            else:
                amount = args.get("bytes") == int((re.findall(r"\+(\d+)\]", " ".join(said)) or [0])[0])
            if args["kind"] != said[0] or args.get("peer") != peer or not amount:
                errors.append(f"{where}: {args} is not {said}")
            begin, end = round(task["ts"] * 1000), round((task["ts"] + task["dur"]) * 1000)
            if begin < round(whole["ts"] * 1000) or end > round((whole["ts"] + whole["dur"]) * 1000) + 1:
                errors.append(f"{where}: {args} is outside")
            # The host engine does one after the other; in the kernel sends keep their order, what comes from one peer
            # does, and waits do.
            lane = "" if engine == "host" else args["kind"] if args["kind"] != "recv" else f"recv {args['peer']}"
            before = last.get(lane, (-1, 0))
            if args["index"] < before[0] or begin < before[1]:
                errors.append(f"{where}: {args} comes too early")
            last[lane] = (args["index"], end)
    return errors


def main():
    build, mpi = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        test = Trace(build, mpi, scratch)
        for engine in ("host", "kernel"):
            file = scratch / f"{engine}.json"
            status, output = test.run(["--engine", engine, "--trace", file], test.transpose())
            trace = json.loads(file.read_text())
            errors = format_errors(trace)
            test.expect(f"{engine}: a job of 4 ranks is in the Trace Event format", status == 0 and not errors,
                        output + "\n".join(errors[:20]))
            errors = order_errors(test, trace, engine, 4)
            # A broadcast, a barrier, five alltoalls and a gather.
            count = collections.Counter(rank for rank, _ in by_collective(trace))
            test.expect(f"{engine}: each task is where its list says", not errors and set(count.values()) == {8},
                        f"{count}\n" + "\n".join(errors[:20]))
            calls = collections.Counter(event["name"] for event in trace["traceEvents"] if event.get("cat") == "call")
            test.expect(f"{engine}: calls", calls["MPI_Ialltoall"] == 20 and calls["MPI_Wait"] == 32, str(calls))
            arrows = sum(event["ph"] == "s" for event in trace["traceEvents"])
            sends = sum(event.get("cat") == "task" and event["args"]["kind"] == "send" for event in trace["traceEvents"])
            # What the kernel has sent may have arrived before it is known that it was sent.
            test.expect(f"{engine}: arrows join sends to what they have sent",
                        arrows == sends > 0 if engine == "host" else 0 < arrows <= sends, f"{arrows} of {sends}")

        file = scratch / "blocking.json"
        status, output = test.run(["--blocking", "--trace", file], test.transpose(), LAPWING_TRACE_EVENTS="32")
        trace = json.loads(file.read_text())
        test.expect("what is dropped is told, and the rest is whole",
                    status == 0 and "oldest events were dropped" in output and not format_errors(trace) and
                    set(trace["otherData"]["dropped_events"]) == {"0", "1", "2", "3"} and
                    any(event["name"] == "MPI_Bcast (wait)" for event in trace["traceEvents"]), output)
        test.expect("no parts are left", sorted(os.listdir(scratch)) == ["blocking.json", "host.json", "kernel.json"],
                    str(os.listdir(scratch)))

        file = scratch / "killed.json"
        status, output = test.run(["--trace", file], [build / "tests" / f"faults-{mpi}", "killed", "1", "offered"], 3)
        trace = json.loads(file.read_text())
        # A rank that waits until the launcher ends the job records the wait, which may overwrite its tasks.
        with_tasks = {event["pid"] for event in trace["traceEvents"] if event.get("cat") == "task"}
        dropped = {int(rank) for rank in trace["otherData"].get("dropped_events", {})}
        test.expect("of a job whose rank is killed all ranks' events are there",
                    status not in (0, None) and not format_errors(trace) and "did not reach MPI_Finalize" in output and
                    1 in with_tasks and with_tasks | dropped == {0, 1, 2} == {event["pid"] for event in trace["traceEvents"]}, output)

        status, output = test.run(["--trace", "/no/directory/file"], test.transpose())
        test.expect("a file that cannot be written", status == 125 and "cannot be written to /no/directory/file: No such file"
                    in output and "transposed" not in output, output)
        status, output = test.run([], test.transpose(), LAPWING_TRACE="/no/directory")
        test.expect("a directory that is not on every host costs the timeline only", status == 0 and
                    output.count("its directory must be there on every host") == 1 and "transposed" in output, output)
        test.expect("a number that is none", test.run(["--trace", file], test.transpose(), LAPWING_TRACE_EVENTS="many")[0] == 125)
        waits(test, scratch)
        full_disk(test, scratch)
        clocks_of_hosts(test, scratch)
        return 1 if test.failed else 0


def waits(test, scratch):
    """Rank 0 is late at each of five barriers: the other rank waits there. How, depends on the machine: it spins, sleeps until it is woken up or
    until the limit of its sleep, and may find the message by itself after each sleep."""
    for engine, wakes in (("host", "doorbell"), ("kernel", "descriptor")):
        file = scratch / f"waits-{engine}.json"
        status, output = test.run(["--engine", engine, "--blocking", "--trace", file],
                                  [test.build / "tests" / f"waits-{test.mpi}"], 2)
        trace = json.loads(file.read_text())
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        barriers = [event for event in events if event["name"] == "MPI_Barrier (wait)" and event["pid"] == 1]
        inside = [event for event in events if event.get("cat") == "wait" and event["pid"] == 1 and
                  any(one["ts"] <= event["ts"] and event["ts"] + event["dur"] <= one["ts"] + one["dur"] + 0.002
                      and one["tid"] == event["tid"] for one in barriers)]
        woken = {event["args"]["woken_by"] for event in inside if event["name"] == "sleep"}
        test.expect(f"{engine}: the waits for a late rank are in the timeline, with what ended each sleep",
                    status == 0 and not format_errors(trace) and inside and {event["name"] for event in inside} <= {"spin", "sleep"} and
                    woken <= {"limit", wakes}, f"{output}\n{woken}\n{inside[:10]}")


def full_disk(test, scratch):
    small = scratch / "small"
    apart = jobs.on_small_disk(small, "1m")
    if not apart:
        return
    status, output = test.run(["--trace", small / "t.json"], test.transpose(), before=apart)
    test.expect("a full disk costs the timeline only, and is named once", status == 0 and "transposed" in output and
                output.count("No space left on device") == 1, output)


def clocks_of_hosts(test, scratch):
    file = scratch / "hosts.json"
    if not test.has_hosts():
        return
    launch = [f"mpirun.{test.mpi}", "-n", "2", *test.transpose()]
    _, output = jobs.execute([test.tool, "cluster", "--hosts", "2", "--", test.tool, "run", "--trace", file, "--", *launch], 60,
                             jobs.environment(test.mpi, test.build))
    trace = json.loads(file.read_text())
    clock = trace["otherData"]["clocks"][1]
    offsets = clock["offsets"]
    # The hosts are on one machine, so the true offset is 0.
    good = clock["host"] == "node2" and clock["measured_by_rank"] == 1 and all(
        0 < one["error_us"] and abs(one["offset_us"]) <= one["error_us"] for one in offsets)
    test.expect(f"clocks of two hosts: {offsets}", good and not format_errors(trace) and
                re.search(r"are comparable to within \d+\.\d us", output), output)


if __name__ == "__main__":
    sys.exit(main())
