"""lapwing explain --format goal: schedules that another simulator reads, and runs in the same time as lapwing predict --loggopsim.

The other simulator is a small one. It was written from the publication on LogGOPSim and GOAL (Hoefler, Schneider, Lumsdaine 2010),
not from Lapwing's: one queue of events, receives matched with arrivals, overheads on one processor, gaps on two interfaces."""

import collections
import heapq
import json
import pathlib
import re
import unittest

from support import ToolTest

DATA = pathlib.Path(__file__).parent / "goal"
LATENCY, OVERHEAD, GAP, PER_BYTE = 2500, 1500, 1000, 6  # LogGOPSim's defaults, nanoseconds
CONSTANTS = f"latency={LATENCY}ns,task={OVERHEAD}ns,gap={GAP}ns,per_byte={PER_BYTE}ns"


class Schedule:
    """All operations (kind, size, peer), and their dependences: on the completion or on the begin of another operation."""

    def __init__(self, text):
        self.operations, self.after, self.after_begin = [], collections.defaultdict(list), collections.defaultdict(list)
        self.missing = collections.Counter()
        self.ranks, rank, labels = None, None, {}
        for line in filter(None, map(str.strip, text.splitlines())):
            if match := re.fullmatch(r"num_ranks (\d+)", line):
                self.ranks = int(match[1])
            elif match := re.fullmatch(r"rank (\d+) {", line):
                rank, labels = int(match[1]), {}
            elif match := re.fullmatch(r"(\w+): (?:(send|recv) (\d+)b (?:to|from) (\d+) tag 0|(calc) (\d+))", line):
                labels[match[1]] = len(self.operations)
                self.operations.append((rank, match[2] or match[5], int(match[3] or match[6]), int(match[4] or -1)))
            elif match := re.fullmatch(r"(\w+) (i?requires) (\w+)", line):
                (self.after if match[2] == "requires" else self.after_begin)[labels[match[3]]].append(labels[match[1]])
                self.missing[labels[match[1]]] += 1
            else:
                assert line == "}", line


def run(schedule):
    """The time at which each rank ends, in nanoseconds."""
    processor, sending, receiving = ([0] * schedule.ranks for _ in range(3))
    posted, arrived = collections.defaultdict(collections.deque), collections.defaultdict(collections.deque)
    missing, queue, number, done = schedule.missing.copy(), [], 0, 0

    def push(time, what, operation, peer=-1):
        nonlocal number
        heapq.heappush(queue, (time, number, what, operation, peer))
        number += 1

    def release(dependants, time):
        for one in dependants:
            missing[one] -= 1
            if missing[one] == 0:
                push(time, "begin", one)

    for index in range(len(schedule.operations)):
        if missing[index] == 0:
            push(0, "begin", index)
    while queue:
        time, _, what, index, sender = heapq.heappop(queue)
        rank, kind, size, peer = schedule.operations[index]
        if what == "begin" and kind == "recv":
            release(schedule.after_begin[index], time)
            if arrived[rank, peer]:
                push(max(time, arrived[rank, peer].popleft()), "take in", index)
            else:
                posted[rank, peer].append(index)
        elif what == "begin":
            free = max(time, processor[rank], sending[rank] if kind == "send" else 0)
            if free > time:
                push(free, "begin", index)
                continue
            if kind == "send":
                processor[rank], sending[rank] = time + OVERHEAD, time + GAP + (size - 1) * PER_BYTE
                push(time + OVERHEAD + LATENCY, "arrive", index)
            else:
                processor[rank] = time + size
            done += 1
            release(schedule.after_begin[index], time)
            release(schedule.after[index], processor[rank])
        elif what == "arrive":
            if posted[peer, rank]:
                push(time, "take in", posted[peer, rank].popleft())
            else:
                arrived[peer, rank].append(time)
        else:
            free = max(time, processor[rank], receiving[rank])
            if free > time:
                push(free, "take in", index)
                continue
            processor[rank] = time + OVERHEAD + (size - 1) * PER_BYTE
            receiving[rank] = time + GAP + (size - 1) * PER_BYTE
            done += 1
            release(schedule.after[index], processor[rank])
    assert done == len(schedule.operations), "operations are left"
    return processor


class Goal(ToolTest):
    def schedule(self, *words):
        out, _ = self.call("explain", *words, "--format", "goal")
        return Schedule(out)

    def predicted(self, *words):
        out, _ = self.call("predict", *words, "--loggopsim", "--engine", "host", "--work", 0, "--constants", CONSTANTS, "--json", "-")
        (row,) = json.loads(out)["rows"]
        return round(row["engines"][0]["summary"]["base"]["median"] * 1e9)

    def test_loggopsims_own_values(self):
        self.assertEqual(run(self.schedule("barrier", "--ranks", 16, "--algorithm", "dissemination")), [22000] * 16)

    def test_schedules_and_times_are_as_recorded(self):
        """scripts/goal-lists writes the times of twenty schedules, and the schedules of 8 ranks."""
        times = json.loads((DATA / "times.json").read_text())
        self.assertEqual((len(times), len(list(DATA.glob("*.goal")))), (20, 10))
        for name, one in times.items():
            with self.subTest(name=name):
                words = one["command"].split()
                schedule = self.call("explain", *words, "--format", "goal")[0]
                if "-8-ranks" in name:
                    self.assertEqual(schedule, (DATA / f"{name}.goal").read_text())
                self.assertEqual(max(run(Schedule(schedule))), one["nanoseconds"])
                self.assertEqual(self.predicted(*words), one["nanoseconds"])

    def test_schedules_of_every_algorithm_end(self):
        out, _ = self.call("info", "--json")
        for row in json.loads(out)["algorithms"]:
            size = () if row["collective"] == "barrier" else ("--bytes", 48)
            words = (row["collective"], "--hosts", "2x4", "--algorithm", row["name"], *size)
            with self.subTest(words=words):
                self.assertGreater(min(run(self.schedule(*words))), 0)

    def test_what_a_schedule_cannot_be(self):
        for words in (("--level", "queues"), ("--rank", 1)):
            self.refused("explain", "barrier", "--ranks", 4, "--format", "goal", *words, because="the lists of all ranks")


if __name__ == "__main__":
    unittest.main()
