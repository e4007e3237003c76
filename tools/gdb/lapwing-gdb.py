# SPDX-FileCopyrightText: 2026 The Lapwing authors
# SPDX-License-Identifier: BSD-3-Clause
"""Commands of gdb for programs under Lapwing: `lapwing lists`, `lapwing communicators`, `lapwing calls`.

gdb loads this file with the preload library where it is installed in a directory that gdb trusts; otherwise by
`source lapwing-gdb.py`. It reads a running process, or a core dump, and runs no code of it. All that it knows of the
library is the table `lapwing_debugger_table` (src/mpi/requests/debugger_table.cpp), so neither debug information nor this
version of the library is needed."""

import os
import shutil
import subprocess
import time

import gdb

WORD = 8


class Unknown(Exception):
    """An object that cannot be printed; the message says why."""


class Process:
    """The memory of the process, read by the names of the table."""

    def __init__(self):
        self.memory = gdb.selected_inferior()
        if self.memory.pid == 0:
            raise Unknown("no process and no core dump")
        try:
            address = int(gdb.parse_and_eval("(unsigned long)&lapwing_debugger_table"))
        except gdb.error as error:
            raise Unknown("this process has no preload library of Lapwing that has a table for debuggers: was it started by "
                          "`lapwing run`, and by a version that has one? For a core dump, gdb needs the same library file; "
                          "`info sharedlibrary` lists those that gdb has found") from error
        self.table = {}
        while name := self.pointer(address):
            self.table[self.string(name)] = self.number(address + WORD)
            address += 2 * WORD
        if self.table.get("version") != 1:
            raise Unknown("the library was not initialized yet, or is of another version than this script")

    def read(self, address, length):
        try:
            return bytes(self.memory.read_memory(address, length))
        except gdb.MemoryError as error:
            raise Unknown(f"the memory at {address:#x} cannot be read: a core dump may leave out parts") from error

    def number(self, address, length=WORD):
        return int.from_bytes(self.read(address, length), "little")

    def integer(self, address, length=4):
        return int.from_bytes(self.read(address, length), "little", signed=True)

    pointer = number

    def string(self, address):
        text = b""
        while len(text) < 4096:
            one = self.read(address + len(text), 1)
            if one == b"\0":
                break
            text += one
        return text.decode(errors="replace")

    def vector(self, address):
        """The words of a std::vector of pointers."""
        begin, end = self.pointer(address), self.pointer(address + WORD)
        return [self.pointer(at) for at in range(begin, end, WORD)]

    def at(self, base, member):
        """The address of a member of an object."""
        if member not in self.table:
            raise Unknown(f"this version of Lapwing has no {member}")
        return base + self.table[member]

    def name(self, table, index):
        return self.string(self.pointer(self.table[table] + WORD * index))

    def engine(self, address):
        row = self.table["engines"]
        while engine := self.pointer(row):
            if engine == address:
                return self.string(self.pointer(row + WORD))
            row += 2 * WORD
        return "none yet"

    def communicator(self, address):
        """The handle, rank and size of a communicator, as text."""
        handle = self.number(self.at(address, "communicator.handle"), self.table["communicator.handle.bytes"])
        rank = self.integer(self.at(address, "communicator.rank"))
        ranks = self.integer(self.at(address, "communicator.ranks"))
        return f"rank {rank} of {ranks} in communicator {handle:#x}", rank, ranks


def choice(process, plan):
    """The algorithm, as `lapwing explain --algorithm` takes it."""
    algorithm = process.pointer(process.at(plan, "plan.algorithm"))
    text = process.string(process.pointer(process.at(algorithm, "algorithm.name")))
    parameters = process.at(algorithm, "algorithm.parameters")
    first, count = process.pointer(parameters), process.number(parameters + WORD)
    for i in range(min(count, 3)):
        name = process.string(process.pointer(first + i * process.table["parameter.bytes"]))
        text += f":{name}={process.integer(process.at(plan, 'plan.parameters') + WORD * i, WORD)}"
    return text


def explained(process, plan, collective, rank, ranks, algorithm):
    """The list, one line for each task. It follows from the problem: `lapwing explain` builds it again."""
    problem = process.at(plan, "plan.problem")
    parts = process.at(problem, "problem.parts")
    if process.pointer(parts) != process.pointer(parts + WORD):
        raise Unknown("the list is not shown, because its blocks may differ in length")
    if process.pointer(process.at(problem, "problem.placement")):
        raise Unknown("the list is not shown, because it depends on the hosts of the ranks")
    number = process.number(process.at(problem, "problem.bytes"))
    words = ["explain", collective, "--ranks", ranks, "--rank", rank, "--algorithm", algorithm, "--format", "text"]
    if number:
        words += ["--bytes", number]
    root = process.integer(process.at(problem, "problem.root"))
    if root:
        words += ["--root", root]
    if process.number(process.at(problem, "problem.in_place"), 1):
        words.append("--in-place")
    if "reduce" in collective or "scan" in collective:
        kind = process.name("types", process.number(process.at(problem, "problem.type"), 1))
        if kind == "opaque":
            kind += f":{process.number(process.at(problem, 'problem.element'))}"
        words += ["--op", process.name("operators", process.number(process.at(problem, "problem.operator"), 1)), "--type", kind]
        if process.number(process.at(problem, "problem.ordered"), 1):
            words.append("--ordered")
    tool = shutil.which("lapwing")
    if tool is None:
        raise Unknown(f"`lapwing {' '.join(str(word) for word in words)}` shows the list, but `lapwing` is not in PATH")
    # The variables of the program under the debugger must not choose anything here.
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("LAPWING_") and name != "LD_PRELOAD"}
    answer = subprocess.run([tool, *map(str, words)], env=environment, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise Unknown(f"`lapwing explain` does not show the list: {answer.stderr.strip()}")
    return [line.strip() for line in answer.stdout.splitlines() if line.startswith("  ")]


def call_site(address):
    if address == 0:
        return ""
    line = gdb.find_pc_line(address - 1)
    if line.symtab is not None:
        return f", called at {line.symtab.filename}:{line.line}"
    block = gdb.execute(f"info symbol {address - 1}", to_string=True).strip()
    return f", called from {address:#x}" + ("" if block.startswith("No symbol") else f" ({block.split(' in section')[0]})")


def age(process, began):
    """Seconds since a time of the process, as text; empty if unknown."""
    # 0: no clock is read unless there is a report or a timeline. A core dump does not know its time.
    connection = getattr(process.memory, "connection", None)
    if began == 0 or connection is None or connection.type != "native":
        return ""
    return f", started {(time.monotonic_ns() - began) / 1e9:.1f} s ago"


def describe(process, request, state):
    collective = process.number(process.at(request, "request.collective"), 1)
    where, rank, ranks = process.communicator(process.pointer(process.at(request, "request.group")))
    persistent = process.pointer(process.at(request, "request.persistent")) != 0
    site = call_site(process.pointer(process.at(request, "request.call_site")))
    started = age(process, process.number(process.at(request, "request.began")))
    print(f"{process.name('functions', collective)}{' (persistent)' if persistent else ''}: {where}, {state}{started}{site}")
    plan = process.pointer(process.at(request, "request.plan"))
    if plan == 0:
        print("  waits until the ranks of the communicator have agreed on their networks")
        return
    if state != "running":
        return
    algorithm = choice(process, plan)
    engine = process.engine(process.pointer(process.at(plan, "plan.engine")))
    tasks = process.number(process.at(plan, "plan.tasks"))
    channel = process.number(process.at(request, "request.channel"), 4)
    print(f"  engine {engine}, algorithm {algorithm}, channel {channel}, {tasks} tasks")
    step = None
    operation = process.pointer(process.at(request, "request.operation"))
    if engine == "host" and operation:
        step = process.number(process.at(operation, "host.step"))
        print(f"  task {step} is next" if step < tasks else "  all tasks are done; messages are on their way")
    try:
        for number, line in enumerate(explained(process, plan, process.name("collectives", collective), rank, ranks, algorithm)):
            print(f"  {'=>' if number == step else '  '} {number:3} {line}")
    except Unknown as reason:
        print(f"  {reason}")


def chain(process, list_name, record):
    """The records of a list of the journal."""
    address = process.pointer(process.at(process.table["journal"], f"journal.{list_name}"))
    while address:
        yield address
        address = process.pointer(process.at(address, f"{record}.next"))


def recorded(process, record, kind):
    """Function, source line and age of a recorded call."""
    function = process.pointer(process.at(record, f"{kind}.function"))
    site = call_site(process.pointer(process.at(record, f"{kind}.site")))
    return process.string(function), age(process, process.number(process.at(record, f"{kind}.began"))) + site


def recorded_arguments(process, call):
    words = process.number(process.at(call, "call.arguments"))
    length = process.number(process.at(call, "call.length"))
    said = [f"root {(words >> 32) - 1}"] if words >> 32 else []
    for table, shift in (("types", 16), ("operations", 24)):
        if number := words >> shift & 0xff:
            said.append(process.string(process.pointer(process.pointer(process.at(process.table["journal"], f"journal.{table}")) + WORD * number)))
    said += [f"{length} bytes"] if length else []
    return f" ({', '.join(said)})" if said else ""


class Lapwing(gdb.Command):
    """The state of Lapwing in this process: `lapwing lists`, `lapwing communicators`, `lapwing calls`."""

    def __init__(self):
        super().__init__("lapwing", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Subcommand(gdb.Command):
    def __init__(self, name):
        super().__init__(f"lapwing {name}", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        del argument, from_tty
        try:
            self.show(Process())
        except Unknown as reason:
            raise gdb.GdbError(f"lapwing: {reason}") from None


class Lists(Subcommand):
    """The collectives in flight in this process: communicator, engine, algorithm, where the program has called, and the list
of tasks, with the next task of a list of the host engine."""

    def show(self, process):
        found = 0
        for state in ("running", "complete"):
            vector = process.table["requests.by_state"] + 3 * WORD * process.table[f"state.{state}"]
            for request in process.vector(vector):
                describe(process, request, state if state == "running" else "complete, the program has not seen it")
                found += 1
        if found == 0:
            print("no collective of Lapwing's is in flight")


class Communicators(Subcommand):
    """The communicators on which Lapwing has run collectives."""

    def show(self, process):
        communicators = process.vector(process.pointer(process.table["communicators"]))
        for communicator in communicators:
            words, _, _ = process.communicator(communicator)
            engine = process.engine(process.pointer(process.at(communicator, "communicator.engine")))
            print(f"{words}: {process.number(process.at(communicator, 'communicator.collectives'), 4)} channels used, last engine {engine}")
        if not communicators:
            print("Lapwing has run no collective")


class Calls(Subcommand):
    """The last MPI calls in the journal: for each communicator its collectives, of Lapwing and of the MPI, and for each thread
its current or last call."""

    def show(self, process):
        names = {}
        for record in sorted(chain(process, "communicators", "record")):
            handle = process.number(process.at(record, "record.handle"))
            if handle == 0:
                continue
            names[handle] = process.string(process.pointer(process.at(record, "record.name"))) or f"communicator {handle:#x}"
            base = process.number(process.at(record, "record.base"))
            print(f"{names[handle]}: {process.number(process.at(record, 'record.serials')) - base} collectives")
            first = process.at(record, "record.calls")
            ring = [first + i * process.table["call.bytes"] for i in range(process.table["record.remembered"])]
            calls = {process.number(process.at(call, "call.state")): call for call in ring}
            for state, call in sorted(calls.items()):
                if state >> 2 <= base:
                    continue
                function, more = recorded(process, call, "call")
                print(f"  {(state >> 2) - base:3} {function}{recorded_arguments(process, call)}: {'complete' if state & 1 else 'in flight'}, "
                      f"by {'Lapwing' if state & 2 else 'the MPI'}{more}")
        for thread in chain(process, "threads", "thread"):
            if process.number(process.at(thread, "thread.used")) == 0 or process.pointer(process.at(thread, "thread.function")) == 0:
                continue
            function, more = recorded(process, thread, "thread")
            where = names.get(process.number(process.at(thread, "thread.communicator")), "")
            peer = process.integer(process.at(thread, "thread.partner"))
            with_peer = f", peer {peer}, tag {process.integer(process.at(thread, 'thread.partner') + 4)}" if peer >= 0 else ""
            inside = process.number(process.at(thread, "thread.state")) & 1
            print(f"{'a thread is in' if inside else 'the last call of a thread was'} {function}{where and f' on {where}'}{with_peer}{more}")


Lapwing()
Lists("lists")
Communicators("communicators")
Calls("calls")
