#!/usr/bin/python3
"""Compares predictions with measurements on virtual hosts.

validate_predictions.py [--seconds S] [--keep DIRECTORY] [--results FILE] [TOOL]
validate_predictions.py --programs [--hosts N,...] [--program NAME=COMMAND ...] [--keep DIRECTORY] [--results FILE] [TOOL]

Without --programs, message costs are fitted on 2 and 4 hosts; base times, the order of algorithms and overlap are predicted for 3, 6 and
8 hosts and for other sizes, and measured there.

With --programs, whole programs are recorded: the applications of apps/, or the commands given. The replay is compared with the recorded
run, and the prediction for the kernel engine with a run with that engine. Each run is made twice, and the shorter one counts: other jobs
of the machine can only lengthen it.

Needs root for the virtual hosts, Open MPI, and the machine for itself; the first form takes about ten times S seconds (24). --keep stores
the measurements in DIRECTORY; what is there already is not measured again."""

import argparse
import itertools
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# Shorter bursts than the default of 66 KiB, which would hide from the fit what a byte costs.
RATE, BURST = "100mbit", ("--burst", "18100")
FITTED, HELD_OUT = (2, 4), (3, 6, 8)
FITTED_SIZES, HELD_OUT_SIZES = "16,1Ki,64Ki", "8,4Ki,256Ki"
COLLECTIVES = "ialltoall,ibcast,iallreduce,igather"
OVERLAP = ("--collective", "ialltoall,ibcast,igather", "--bytes", "4Ki,64Ki,256Ki")
OVERLAP_HOSTS = (2, 4)
LONG = 64 << 10
DIFFERENT = 1.2


def lapwing(tool, *words, hosts=0):
    command = [tool, *map(str, words)]
    if hosts:
        command = [tool, "cluster", "--hosts", str(hosts), "--rate", RATE, *BURST, "--", *command, "--", "mpirun.openmpi", "-n", str(hosts)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    # 1: complete but for something that did not apply.
    if ended.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {ended.stderr}")
    return ended.stdout


def tune(tool, file, hosts, sizes, seconds):
    lapwing(tool, "tune", "--engine", "host,kernel", "--collective", COLLECTIVES, "--bytes", sizes, "--time", seconds,
            "--add", "-o", file, hosts=hosts)


def measured_rows(file, ranks):
    """{(engine, collective, bytes, algorithm): seconds}"""
    found = {}
    for table in json.loads(file.read_text())["tables"]:
        if table["ranks"] != [ranks, ranks]:
            continue
        for row in table["measured"]:
            for algorithm, seconds in row["seconds"].items():
                found[table["engine"], row["collective"], row["bytes"], algorithm] = seconds
    return found


def predicted_rows(tool, tuning, ranks, keys):
    found = {}
    for engine, collective in sorted({key[:2] for key in keys}):
        own = [key for key in keys if key[:2] == (engine, collective)]
        sizes = ",".join(sorted({str(key[2]) for key in own}, key=int))
        algorithms = ",".join(dict.fromkeys(key[3] for key in own))
        out = lapwing(tool, "predict", collective, "--ranks", ranks, "--bytes", sizes, "--algorithm", algorithms, "--engine", engine,
                      "--work", 0, "--tuning", tuning, *BURST, "--json", "-")
        for row in json.loads(out)["rows"]:
            for one in row["engines"]:
                found[engine, collective, row["bytes"], one["algorithm"]] = one["summary"]["base"]["median"]
    return found


def factor(one, other):
    return max(one / other, other / one)


def mean(factors):
    return math.exp(sum(map(math.log, factors)) / len(factors))


def compare(title, measured, predicted, say):
    both = [key for key in measured if key in predicted]
    for name, keys in (("to 4 KiB", [key for key in both if key[2] < LONG]), ("from 64 KiB on", [key for key in both if key[2] >= LONG])):
        for engine in ("host", "kernel"):
            factors = sorted(factor(predicted[key], measured[key]) for key in keys if key[0] == engine)
            if not factors:
                continue
            say(f"{title}, {engine}, {name}: {len(factors)} times, factor {mean(factors):.2f} on average, 90 % within "
                f"{factors[int(0.9 * (len(factors) - 1))]:.2f}; within 1.2: {sum(f <= 1.2 for f in factors)}")
            worst = sorted((key for key in keys if key[0] == engine), key=lambda key: -factor(predicted[key], measured[key]))[:3]
            say("    furthest off: " + ", ".join(f"{key[1]} {key[2]} {key[3]}: {predicted[key] / measured[key]:.2f} of {measured[key] * 1e6:.0f} us"
                                                 for key in worst))
    right = wrong = 0
    for _, group in itertools.groupby(sorted(both), key=lambda key: key[:3]):
        for one, other in itertools.combinations(group, 2):
            if factor(measured[one], measured[other]) > DIFFERENT:
                if (measured[one] < measured[other]) == (predicted[one] < predicted[other]):
                    right += 1
                else:
                    wrong += 1
    say(f"{title}: of two algorithms that differ by more than 20 % the faster one is predicted in {right} of {right + wrong} cases")


def measure_overlaps(tool, file, hosts, seconds):
    # Ranks that share processors would wait for each other's work, which is not simulated.
    compute = "work" if hosts <= os.cpu_count() else "sleep"
    lapwing(tool, "bench", "overlap", *OVERLAP, "--engine", "host,kernel", "--compute", compute, "--rounds", 3, "--seconds", seconds,
            "--json", file, hosts=hosts)


def overlaps(tool, tuning, file, hosts, say):
    measured = json.loads(file.read_text())
    compute = measured["settings"]["compute"]
    differences = {"host": [], "kernel": []}
    for row in measured["rows"]:
        for one in row["engines"]:
            out = lapwing(tool, "predict", row["collective"][4:], "--ranks", hosts, "--bytes", row["bytes"], "--engine", one["engine"],
                          "--tuning", tuning, *BURST, "--json", "-")
            (told,) = json.loads(out)["rows"]
            found = told["engines"][0]["summary"]["overlap"]["median"]
            differences[one["engine"]].append(abs(found - one["summary"]["overlap"]["median"]) * 100)
            say(f"overlap, {hosts} hosts, {compute}, {row['collective']}, {row['bytes']} bytes, {one['engine']}: measured "
                f"{one['summary']['overlap']['median'] * 100:.0f} %, predicted {found * 100:.0f} %")
    for engine, points in differences.items():
        if points:
            say(f"overlap, {hosts} hosts, {engine}: {sum(point <= 10 for point in points)} of {len(points)} within 10 points")


# Programs. `lapwing tune` measures what a short message costs before the programs run. What a byte costs is that of an exchange of 1.8 MB by
# the kernel engine (12.7 ms), which the fit with shorter messages does not find.
PROGRAM_RATE, PROGRAM_BURST, PER_BYTE = "1gbit", "66Ki", "per_byte=7.3ns,task_per_byte=0us"
TUNED_SIZES = "16,1Ki,16Ki,256Ki"
APPLICATIONS = {
    "cg": "cg --size 96 96 96", "cg-blocking": "cg --size 96 96 96 --mode blocking", "fft": "fft --size 96 96 96",
    "fft-blocking": "fft --size 96 96 96 --mode blocking", "lu": "lu --n 2000", "lu-ring": "lu --n 2000 --mode ring", "compress": "compress",
    "transpose": "transpose",
}


def commands(options):
    """{name: words}"""
    if options.program:
        return {name: command.split() for name, command in (given.split("=", 1) for given in options.program)}
    apps = pathlib.Path(options.tool).resolve().parents[1] / "apps"
    found = {}
    for name, words in APPLICATIONS.items():
        program, *arguments = words.split()
        found[name] = [apps / f"{program}-openmpi", *arguments]
    return found


def on_hosts(tool, hosts, command):
    """Seconds of a command on virtual hosts."""
    cores = ["--cores-per-host", "0,1"] if hosts <= 2 else []
    words = [str(word) for word in [tool, "cluster", "--hosts", hosts, *cores, "--rate", PROGRAM_RATE, "--", *command]]
    began = time.monotonic()
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600,
                           env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {ended.stdout[-300:]}")
    return time.monotonic() - began


def replay(tool, tuning, recording):
    """The replay of the recorded run, and the total of each engine."""
    command = [tool, "predict", "--program", recording, "--engine", "native,kernel", "--tuning", tuning, "--constants", PER_BYTE,
               "--burst", PROGRAM_BURST, "--json", "-"]
    ended = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in (0, 1):
        raise RuntimeError(ended.stderr.strip().splitlines()[-1])
    result = json.loads(ended.stdout)
    (row,) = result["rows"]
    return result["program"]["replays"][0], {one["engine"]: one["summary"]["total"]["median"] for one in row["engines"]}


def record(tool, tuning, hosts, program, kept):
    """The recording of the shorter of two runs, and the shorter command's seconds without Lapwing and with its kernel engine."""
    times = kept.parent / f"{kept.name}.json"
    if times.exists():
        return json.loads(times.read_text())
    mpirun = ["mpirun.openmpi", "--allow-run-as-root", "-n", hosts, *program]
    seconds = {"native": [], "kernel": []}
    with tempfile.TemporaryDirectory() as scratch:
        lengths = {}
        for turn in range(2):
            recording = pathlib.Path(scratch) / f"run{turn}"
            on_hosts(tool, hosts, [tool, "profile", "--record", recording, "--", *mpirun])
            lengths[recording] = replay(tool, tuning, recording)[0]["measured"]
            seconds["native"].append(on_hosts(tool, hosts, mpirun))
            seconds["kernel"].append(on_hosts(tool, hosts, [tool, "run", "--engine", "kernel", "--", *mpirun]))
        shutil.copytree(min(lengths, key=lengths.get), kept)
    shortest = {engine: min(runs) for engine, runs in seconds.items()}
    times.write_text(json.dumps(shortest))
    return shortest


def validate_programs(options, directory, say):
    tool, tuning = options.tool, directory / "tuning.json"
    if not tuning.exists():
        for hosts in options.hosts:
            on_hosts(tool, hosts, [tool, "tune", "--engine", "host,kernel", "--collective", COLLECTIVES, "--bytes", TUNED_SIZES, "--time",
                                   options.seconds, "--add", "-o", tuning, "--", "mpirun.openmpi", "-n", hosts])
        lapwing(tool, "fit", tuning, "--burst", PROGRAM_BURST)
    say(f"{'program':18}{'hosts':>6}{'measured ms':>13}{'in MPI ms':>11}{'replayed ms':>13}{'ratio':>7}"
        f"{'kernel, measured ms':>21}{'predicted ms':>14}{'ratio':>7}{'no processor':>14}")
    ratios, order = {}, []
    for hosts in options.hosts:
        for name, program in commands(options).items():
            kept = directory / f"{name}-{hosts}"
            try:
                seconds = record(tool, tuning, hosts, program, kept)
                run, totals = replay(tool, tuning, kept)
            except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
                say(f"{name:18}{hosts:6}  left out: {str(error).splitlines()[-1][:160]}")
                continue
            # The start of the job takes as long with either engine.
            kernel = run["measured"] + seconds["kernel"] - seconds["native"]
            ratio, kernel_ratio = run["predicted"] / run["measured"], totals["kernel"] / kernel
            ratios.setdefault((hosts, "native"), []).append(ratio)
            ratios.setdefault((hosts, "kernel"), []).append(kernel_ratio)
            if abs(kernel / run["measured"] - 1) > 0.1:
                order.append((kernel < run["measured"]) == (totals["kernel"] < run["predicted"]))
            say(f"{name:18}{hosts:6}{run['measured'] * 1e3:13.1f}{run['measured_in_mpi'] * 1e3:11.1f}{run['predicted'] * 1e3:13.1f}{ratio:7.2f}"
                f"{kernel * 1e3:21.1f}{totals['kernel'] * 1e3:14.1f}{kernel_ratio:7.2f}{run['off_processor'] / run['measured']:14.1%}")
    for (hosts, engine), found in ratios.items():
        say(f"{hosts} hosts, {engine}: within 10 %: {within(found, 1.1)} of {len(found)}, within 20 %: {within(found, 1.2)}")
    if order:
        say(f"of native and kernel, where they differ by more than 10 %, the faster one is predicted in {sum(order)} of {len(order)} cases")


def within(ratios, bound):
    return sum(1 / bound <= ratio <= bound for ratio in ratios)


def validate_collectives(options, directory, say):
    tool, fitted, held_out = options.tool, directory / "fitted.json", directory / "held-out.json"
    overlap_files = {hosts: directory / f"overlap-{hosts}.json" for hosts in OVERLAP_HOSTS}
    if not fitted.exists():
        for hosts in FITTED:
            tune(tool, fitted, hosts, FITTED_SIZES, options.seconds)
    lapwing(tool, "fit", fitted, *BURST)
    if not held_out.exists():
        for hosts in HELD_OUT:
            tune(tool, held_out, hosts, HELD_OUT_SIZES, options.seconds)
    for table in json.loads(fitted.read_text())["tables"]:
        say(f"fitted on {table['ranks'][0]} hosts, {table['engine']}: " + ", ".join(
            f"{name} {value * 1e6:.3g} us" if "byte" not in name else f"{name} {value * 1e9:.3g} ns"
            for name, value in table["messages"].items()))
    for title, file, all_hosts in (("fitted", fitted, FITTED), ("held out", held_out, HELD_OUT)):
        for hosts in all_hosts:
            measured = measured_rows(file, hosts)
            compare(f"{hosts} hosts, {title}", measured, predicted_rows(tool, fitted, hosts, measured), say)
    for hosts, file in overlap_files.items():
        if not file.exists():
            measure_overlaps(tool, file, hosts, options.seconds)
        overlaps(tool, fitted, file, hosts, say)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=24)
    parser.add_argument("--results")
    parser.add_argument("--keep")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--program", action="append")
    parser.add_argument("--hosts", type=lambda text: [int(word) for word in text.split(",")], default=[2, 4])
    parser.add_argument("tool", nargs="?", default="build/bin/lapwing")
    options = parser.parse_args()
    lines = [f"$ {' '.join(sys.argv)}"]

    def say(line):
        print(line, flush=True)
        lines.append(line)
        if options.results:
            pathlib.Path(options.results).write_text("\n".join(lines) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(options.keep or scratch)
        directory.mkdir(exist_ok=True)
        (validate_programs if options.programs else validate_collectives)(options, directory, say)


if __name__ == "__main__":
    main()
