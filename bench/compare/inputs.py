"""Inputs of real_codes: small systems for which Debian's packages have all data."""

import gzip
import math
import pathlib
import random


def rotated(atoms, generator):
    """Rotates the points by a random rotation; all rotations are equally likely."""
    u, v, w = (generator.random() for _ in range(3))
    x, y = math.sqrt(1 - u) * math.sin(2 * math.pi * v), math.sqrt(1 - u) * math.cos(2 * math.pi * v)
    z, s = math.sqrt(u) * math.sin(2 * math.pi * w), math.sqrt(u) * math.cos(2 * math.pi * w)
    rows = [(1 - 2 * (y * y + z * z), 2 * (x * y - z * s), 2 * (x * z + y * s)), (2 * (x * y + z * s), 1 - 2 * (x * x + z * z), 2 * (y * z - x * s)),
            (2 * (x * z - y * s), 2 * (y * z + x * s), 1 - 2 * (x * x + y * y))]
    return [(element, [sum(row[axis] * at[axis] for axis in range(3)) for row in rows]) for element, at in atoms]


def water(side, steps):
    """CP2K: side^3 molecules of water at the density of water, some steps of molecular dynamics."""
    generator = random.Random(1)
    length = 3.105
    molecule = [("O", (0, 0, 0)), ("H", (0.757, 0.586, 0)), ("H", (-0.757, 0.586, 0))]
    lines = []
    for corner in ((x, y, z) for x in range(side) for y in range(side) for z in range(side)):
        for element, at in rotated(molecule, generator):
            lines.append(" ".join([element, *(f"{place + length * cell:.6f}" for place, cell in zip(at, corner))]))
    coordinates = "\n".join(lines)
    return f"""&GLOBAL
  PROJECT water
  RUN_TYPE MD
  PRINT_LEVEL LOW
&END GLOBAL
&MOTION
  &MD
    ENSEMBLE NVE
    STEPS {steps}
    TIMESTEP 0.5
    TEMPERATURE 300
  &END MD
  &PRINT
    &RESTART OFF
    &END RESTART
  &END PRINT
&END MOTION
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME GTH_BASIS_SETS
    POTENTIAL_FILE_NAME POTENTIAL
    &MGRID
      CUTOFF 140
    &END MGRID
    &QS
      EPS_DEFAULT 1.0E-10
    &END QS
    &SCF
      SCF_GUESS ATOMIC
      MAX_SCF 6
      &OT
        PRECONDITIONER FULL_SINGLE_INVERSE
        MINIMIZER DIIS
      &END OT
      &PRINT
        &RESTART OFF
        &END RESTART
      &END PRINT
    &END SCF
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
  &END DFT
  &SUBSYS
    &CELL
      ABC {side * length} {side * length} {side * length}
    &END CELL
    &COORD
{coordinates}
    &END COORD
    &KIND H
      BASIS_SET SZV-GTH
      POTENTIAL GTH-PADE-q1
    &END KIND
    &KIND O
      BASIS_SET SZV-GTH
      POTENTIAL GTH-PADE-q6
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
"""


def silicon_pseudopotential():
    return gzip.decompress(pathlib.Path("/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz").read_bytes()).decode()


# Quantum ESPRESSO: 8 atoms of silicon, one of them displaced.
SILICON = """&control
 calculation='scf', prefix='silicon', pseudo_dir='.', outdir='./out', disk_io='none'
/
&system
 ibrav=1, celldm(1)=10.26, nat=8, ntyp=1, ecutwfc=22.0
/
&electrons
 conv_thr=1.0d-10, mixing_beta=0.7
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS crystal
 Si 0.00 0.00 0.00
 Si 0.01 0.50 0.50
 Si 0.50 0.00 0.50
 Si 0.50 0.50 0.00
 Si 0.25 0.25 0.25
 Si 0.25 0.75 0.75
 Si 0.75 0.25 0.75
 Si 0.75 0.75 0.25
K_POINTS automatic
 SIZE 0 0 0
"""

# LAMMPS's melt: 6,912 atoms.
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 10
thermo_modify format float %.12g
run 2000
"""

# LAMMPS, long-range forces by PPPM: 2,744 ions of molten salt.
SALT = """units metal
atom_style charge
boundary p p p
lattice custom 5.64 a1 1 0 0 a2 0 1 0 a3 0 0 1 basis 0 0 0 basis 0 0.5 0.5 basis 0.5 0 0.5 basis 0.5 0.5 0 &
  basis 0.5 0.5 0.5 basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5
region box block 0 7 0 7 0 7
create_box 2 box
create_atoms 2 box basis 1 1 basis 2 1 basis 3 1 basis 4 1 basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 22.99
mass 2 35.45
set type 1 charge 1.0
set type 2 charge -1.0
pair_style born/coul/long 8.0
pair_coeff 1 1 0.2637 0.317 2.340 1.048 -0.499
pair_coeff 1 2 0.2112 0.317 2.755 6.991 -8.676
pair_coeff 2 2 0.1582 0.317 3.170 72.40 -145.4
kspace_style pppm 1.0e-5
velocity all create 600 4928 loop geom
timestep 0.001
fix 1 all nvt temp 600 600 0.1
thermo 5
thermo_modify format float %.12g
run SIZE
"""

# Elk: silicon, all electrons; each rank has some of the points of k.
ELK = """tasks
  0

sppath
  '/usr/share/elk-lapw/species/'

avec
  5.13 5.13 0.0
  5.13 0.0 5.13
  0.0 5.13 5.13

atoms
  1
  'Si.in'
  2
  0.0 0.0 0.0
  0.25 0.25 0.25

ngridk
  12 12 12

maxscl
  14
"""
