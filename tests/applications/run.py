#!/usr/bin/python3
"""Runs applications of Debian's by its Open MPI alone and under `lapwing run`: their results must be the same.

Each case runs on one host with 2 and 4 ranks and on two virtual hosts; alone, with Lapwing's defaults, and with all that
Lapwing can take. Results are compared with those of the same number of ranks by the MPI alone, as text. `scripts/install-dependencies
build applications` installs the packages.
"""

import difflib
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

FOAM = pathlib.Path("/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity")
PEPTIDE = pathlib.Path("/usr/share/lammps/examples/peptide")
SLEPC = pathlib.Path("/usr/share/slepc/3.18/share/slepc/examples/src/eps/tutorials")
PSEUDOPOTENTIAL = pathlib.Path("/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz")

# OpenFOAM looks for its settings by this variable, and traps floating-point exceptions by itself.
ENVIRONMENT = dict(os.environ, WM_PROJECT_DIR="/usr/share/openfoam", OMP_NUM_THREADS="1")
PLACES = {"2 ranks": (2, []), "4 ranks": (4, []), "2 hosts": (2, ["cluster", "--hosts", "2", "--"])}
VARIANTS = {"default": [], "all": ["--blocking", "--messages", "on"]}
LIMIT = 300  # seconds for a job that hangs; the longest takes some seconds


def must(directory, *command):
    return jobs.must(" ".join(map(str, command)), ["env", "--chdir", directory, *command], LIMIT, ENVIRONMENT)


def compile_with(directory, packages, source):
    flags = must(directory, "pkg-config", "--cflags", "--libs", *packages).split()
    must(directory, "mpicc.openmpi", "-O2", source, *flags, "-lm", "-o", "program")


def matches(*patterns):
    """The result of a run: the parts of its output that match. A zero that was rounded has the sign of its rounding error."""
    def find(output, directory):
        output = re.sub(r"-(0\.0+)\b", r" \1", output)
        found = ["\n".join(re.findall(pattern, output, re.MULTILINE)) for pattern in patterns]
        return "\n".join(found) if all(found) else None
    return find


# What prepares each case in an empty directory. A case reads the file `input`, which is its standard input as well.
def openfoam(directory, ranks):
    shutil.copytree(FOAM, directory, dirs_exist_ok=True)
    control = directory / "system" / "controlDict"
    control.write_text(control.read_text().replace("writePrecision  6", "writePrecision  12"))
    (directory / "system" / "decomposeParDict").write_text(
        "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n"
        f"numberOfSubdomains {ranks}; method simple; simpleCoeffs {{ n ({ranks // 2} 2 1); delta 0.001; }}\n")
    must(directory, "blockMesh")
    must(directory, "decomposePar")


def openfoam_result(output, directory):
    if "exception trapping enabled" not in output:
        return None
    return "".join(file.read_text() for file in sorted(directory.glob("processor*/0.5/[Up]")))


def lammps(directory, ranks):
    shutil.copy(PEPTIDE / "data.peptide", directory)
    (directory / "input").write_text((PEPTIDE / "in.peptide").read_text().replace("run\t\t300", "run 100"))


def quantum_espresso(directory, ranks):
    (directory / "silicon.UPF").write_bytes(gzip.decompress(PSEUDOPOTENTIAL.read_bytes()))
    (directory / "input").write_text("""&control
 calculation='scf', prefix='silicon', pseudo_dir='.', outdir='.', disk_io='none', tprnfor=.true., tstress=.true.
/
&system
 ibrav=2, celldm(1)=10.26, nat=2, ntyp=1, ecutwfc=18.0
/
&electrons
 conv_thr=1.0d-12
/
ATOMIC_SPECIES
 Si 28.086 silicon.UPF
ATOMIC_POSITIONS crystal
 Si 0.01 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 2 2 2 0 0 0
""")


def gromacs(directory, ranks):
    (directory / "topol.top").write_text('#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n'
                                         "[ system ]\nwater\n[ molecules ]\n")
    (directory / "grompp.mdp").write_text(
        "nsteps = 100\ncoulombtype = PME\nrcoulomb = 0.9\nrvdw = 0.9\nconstraints = h-bonds\nnstlog = 20\n"
        "gen-vel = yes\ngen-seed = 1\ntcoupl = v-rescale\ntc-grps = system\ntau-t = 0.1\nref-t = 300\nld-seed = 1\n")
    must(directory, "gmx", "solvate", "-cs", "spc216.gro", "-box", "3.7", "3.7", "3.7", "-p", "topol.top", "-o", "conf.gro")
    must(directory, "gmx", "grompp")


def gromacs_result(output, directory):
    energies = re.findall(r"^   Energies .*(?:\n.+)+", (directory / "md.log").read_text(), re.MULTILINE)
    return "\n".join([*energies, (directory / "confout.gro").read_text()]) if energies else None


def nwchem(directory, ranks):
    (directory / "input").write_text("start water\ngeometry units angstrom\n O 0 0 0.1\n H 0.75 0 -0.47\n H -0.75 0 -0.47\nend\n"
                                     "basis\n * library 6-31g*\nend\ntask scf gradient\ntask mp2 energy\n")


def slepc(directory, ranks):
    compile_with(directory, ["slepc", "petsc"], SLEPC / "ex2.c")


def mumps(directory, ranks):
    shutil.copy("/usr/lib/mumps/input_simpletest_real", directory / "input")


def mumps_result(output, directory):
    found = re.search(r"Solution is +(.*)", output)
    return found and " ".join(f"{float(number):.12f}" for number in found[1].split())


def pnetcdf(directory, ranks):
    compile_with(directory, ["pnetcdf"], HERE / "pnetcdf.c")


def pnetcdf_result(output, directory):
    return hashlib.sha256((directory / "result.nc").read_bytes()).hexdigest() if "wrong elements: 0" in output else None


# What prepares a case, its words, what finds its result, and the places that it has natively. Why so many digits:
CASES = {
    # 12 digits of the fields: sums in another order change the 16th, and the solvers of 100 steps enlarge that little.
    "openfoam": (openfoam, ["icoFoam", "-parallel"], openfoam_result, PLACES),
    # Energies and pressure as printed, 4 decimals: neighbouring trajectories part slowly, in 100 steps by less.
    "lammps": (lammps, ["lmp", "-in", "input", "-log", "none"], matches(r"^(?:TotEng|PotEng|E_\w+) .*"), PLACES),
    # As printed: energy and forces to 1e-8, the pressure to 0.01 kbar. The energy is converged to 1e-12 Ry.
    "quantum-espresso": (quantum_espresso, ["pw.x", "-i", "input"], matches(r"^!.*", r".* force = .*", r"P=.*(?:\n.*){3}"), PLACES),
    # As printed: positions to 0.001 nm, velocities to 0.0001 nm/ps, energies to 6 digits. -reprod turns off what depends on time.
    "gromacs": (gromacs, ["gmx_mpi", "mdrun", "-reprod", "-ntomp", "1", "-nb", "cpu"], gromacs_result, PLACES),
    # Energies to 1e-9 Hartree: ranks take their work from a counter, so the last digits vary from run to run. The gradient as
    # printed, to 1e-6. On two virtual hosts its ARMCI fails without Lapwing, too.
    "nwchem": (nwchem, ["nwchem.openmpi", "input"],
               matches(r"Total SCF energy = +(\S+\.\d{9})", r"Total MP2 energy +(\S+\.\d{9})", r"^ +\d [OH](?: +-?\d+\.\d{6}){6}"), ["2 ranks", "4 ranks"]),
    # Eigenvalues as printed, 7 digits, and the number of iterations; it stops at a residual of 1e-8, so further digits are not converged.
    "slepc": (slepc, ["./program", "-n", "40", "-eps_nev", "4"], matches(r"iterations \d+", r"^ +\d\.\d{6}(?= )"), PLACES),
    # 12 decimals of the solution: MUMPS adds contributions in the order in which they come.
    "mumps": (mumps, ["/usr/lib/mumps/dsimpletest"], mumps_result, PLACES),
    # All bytes of the file.
    "pnetcdf": (pnetcdf, ["./program"], pnetcdf_result, PLACES),
}


def run(case, prepared, place, variant, tool):
    """The result of one job in a copy of the prepared directory."""
    _, words, result, _ = CASES[case]
    ranks, cluster = PLACES[place]
    with tempfile.TemporaryDirectory(dir=prepared.parent) as scratch:
        directory = pathlib.Path(scratch) / "case"
        shutil.copytree(prepared, directory)
        before = ["sh", "-c", 'cd "$0" && exec "$@" <input', directory, *([tool, *cluster] if cluster else [])]
        command = [*jobs.launcher("openmpi", ranks), *words]
        report = None
        if variant:
            status, output, report = jobs.with_report([*before, tool], VARIANTS[variant], command, LIMIT, ENVIRONMENT)
        else:
            status, output = jobs.execute([*before, *command], LIMIT, ENVIRONMENT)
        found = result(output, directory) if status == 0 else None
    if not found:
        raise jobs.Failure(f"exit status {status}, no result\n{output[-4000:]}")
    taken = sum(row["taken"] for row in report["collectives"]) if report else 0
    if variant and not report or variant == "all" and not taken:
        raise jobs.Failure(f"Lapwing took no part in it: {report}")
    return found, taken


def compare(case, place, build, tool):
    with tempfile.TemporaryDirectory(dir=build) as scratch:
        prepared = pathlib.Path(scratch) / "prepared"
        prepared.mkdir()
        (prepared / "input").touch()
        CASES[case][0](prepared, PLACES[place][0])
        native, _ = run(case, prepared, place, None, tool)
        for variant in VARIANTS:
            found, taken = run(case, prepared, place, variant, tool)
            if found != native:
                lines = list(difflib.unified_diff(native.splitlines(), found.splitlines(), "native", variant, lineterm="", n=0))
                raise jobs.Failure(f"{variant}: another result\n" + "\n".join(lines[:20]))
            yield f"{variant}: the same, {taken} collectives taken"


def main():
    parser = jobs.parser(__doc__)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="all if none is named")
    parser.add_argument("--place", choices=PLACES, action="append", help="there only")
    options = parser.parse_args()
    tool = options.build / "bin" / "lapwing"
    has_hosts = jobs.Test(options.build, "openmpi").has_hosts()
    failed = 0
    for case in options.cases or CASES:
        for place in options.place or CASES[case][3]:
            if place not in CASES[case][3] or PLACES[place][1] and not has_hosts:
                continue
            try:
                for line in compare(case, place, options.build, tool):
                    print(f"{case}, {place}, {line}", flush=True)
            except (jobs.Failure, OSError) as failure:
                print(f"{case}, {place}: FAILED: {failure}", flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
