"""The laboratory on real programs: a recorded program is replayed by `lapwing predict`, and lists that `lapwing synthesize` found run under
an unmodified program.

python3 programs.py BUILD MPI
"""

import json
import pathlib
import sys
import tempfile

import jobs
from lists import NAMES, Lists
from profiling import PAUSES, Profile


class Predicted(Profile):
    def recording(self, scratch):
        program = self.build / "tests" / f"recorded-{self.mpi}"
        status, output = self.run(["--record", scratch / "recording"], [program], 3)
        self.expect("a program is recorded", status == 0, output)

    def prediction(self, scratch):
        """The recording, by `lapwing predict`."""
        on3, file = scratch / "recording", scratch / "prediction.json"

        def predict(*arguments):
            status, output = jobs.execute([self.build / "bin" / "lapwing", "predict", "--program", *arguments, "--engine",
                                           "native,kernel", "--json", file], 60, jobs.environment(self.mpi, self.build))
            self.expect("a recording is replayed", status == 0 and "of the measured time" in output, output)
            found = json.loads(file.read_text())
            calls = {(one["ranks"], site["function"]): site for one in found["program"]["sites"] for site in one["sites"]}
            return found, calls

        found, calls = predict(on3)
        engines = [engine["engine"] for row in found["rows"] for engine in row["engines"]]
        replay, = found["program"]["replays"]
        messages = calls[3, "MPI_Isend"]
        self.expect("what is replayed is what was called", engines == ["native", "kernel"] and messages["calls"] == 3 * 12 and
                    messages["bytes"] == 3 * 12 * 8000 and "recorded.c:" in messages["name"] and replay["predicted"] > 0 and
                    0 < replay["measured_in_mpi"] <= replay["measured"], str(found["program"]))
        status, output = self.run(["--record", scratch / "sleeps"], [self.build / "tests" / f"waits-{self.mpi}"])
        asleep = predict(scratch / "sleeps")[0]["program"]
        replay, = asleep["replays"]
        self.expect("time without a processor", 0.9 * PAUSES < replay["off_processor"] < replay["measured"] and
                    (replay["off_processor"] > replay["measured"] / 10) ==
                    ("between calls a rank slept or waited for a CPU" in str(asleep.get("cores"))), str(replay) + str(asleep.get("cores")))
        self.shared_cores(on3, predict)

    def shared_cores(self, directory, predict):
        """Ranks share what the recording says, unless the command says otherwise."""
        def cores(processors, *arguments):
            for rank in range(3):
                facts = directory / f"rank-{rank}.facts"
                lines = [json.loads(line) for line in facts.read_text().splitlines()]
                for line in lines:
                    for name in ("machine", "processors", "online") if line["fact"] == "rank" else ():
                        line.pop(name, None)
                    if line["fact"] == "rank" and processors:
                        line |= {"machine": "7f", "processors": processors[rank], "online": 8}
                facts.write_text("".join(json.dumps(line) + "\n" for line in lines))
            return " ".join(predict(directory, *arguments)[0]["program"].get("cores", []))

        shown = cores(["0", "0", "0"])
        self.expect("ranks that shared a processor take turns", "ranks 0-2 shared 1 of 8 CPUs in the recorded run; here they take "
                    "turns of 4 ms on these CPUs" in shown, shown)
        status, output = jobs.execute([self.build / "bin" / "lapwing", "profile", "--show", directory], 60,
                                      jobs.environment(self.mpi, self.build))
        self.expect("--show names them", status == 0 and "\nranks 0-2 shared 1 of 8 CPUs\n" in output, output)
        for arguments, expected in ((("--cores", "own"), "here each rank has a core of its own"),
                                    (("--cores", "3"), "here each rank has a core of its own"),
                                    (("--cores", "2:1ms"), "here all ranks share 2 cores, in turns of 1 ms"),
                                    (("--network", "torus:3"), "here each rank has a core of its own")):
            shown = cores(["0", "0", "0"], *arguments)
            self.expect(f"{' '.join(arguments)} replaces them", expected in shown, shown)
        shown = cores(["0", "1-2", "1-2"])
        self.expect("ranks with enough processors share none", shown == "", shown)
        shown = cores([])
        self.expect("an older recording", "does not contain the CPUs" in shown and "a core of its own" in shown, shown)
        shown = cores(["0", "1", "0"])
        self.expect("bound ranks", "ranks 0, 2 shared 1 of 8 CPUs" in shown, shown)


def synthesized(tests, scratch):
    """Lists for links of unequal rates, run by the kernel engine."""
    links = scratch / "my.links"
    links.write_text("ranks 4\nrate 100mbit\nlatency 60us\nport 3 rate 10mbit\nlink 0-1 rate 20mbit\n")
    file = scratch / "synthesized.lists"
    names = ("allreduce", "alltoall", "broadcast", "gather")
    status, output = jobs.execute([tests.build / "bin/lapwing", "synthesize", ",".join(names), "--topology", links, "--bytes", "4Ki,256Ki",
                                   "--steps", "50", "--chunks", "2", "--always", "-o", file], 60,
                                  jobs.environment(tests.mpi, tests.build))
    tests.expect("lists are synthesized", status == 0, output)
    status, output, uses = tests.run(",".join(f"{name}=file:{file}" for name in names), "kernel",
                                     [tests.built("fuzz"), 1, 100], ranks=4)
    missing = [name for name in names if (f"file:{file}", "kernel") not in uses.get(NAMES[name], set())]
    tests.expect("synthesized lists run", status == 0 and not missing and "lapwing: " not in output, f"{output}\n{missing} {uses}")



def main():
    build, mpi = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        predicted = Predicted(build, mpi)
        predicted.recording(scratch)
        predicted.prediction(scratch)
        tests = Lists(build, mpi)
        synthesized(tests, scratch)
    return 1 if predicted.failed or tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
