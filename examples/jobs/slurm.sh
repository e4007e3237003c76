#!/bin/bash
#SBATCH --job-name=overlap
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --time=00:10:00
# sbatch examples/jobs/slurm.sh: a program under Lapwing by srun.
#
# srun serves every MPI. `lapwing run` sees which one a program is linked to; for a script it has to be told (--mpi openmpi, mpich
# or abi). The MPI has to be told how it meets srun (--mpi pmix for Open MPI and for MPICH built with PMIx, --mpi pmi2 for MPICH and
# Intel MPI).
set -euo pipefail
# module load lapwing openmpi

# Both in one place: which MPI, and how srun starts its ranks.
mpi=${JOB_MPI:-openmpi}
case $mpi in
    openmpi) start=pmix ;;
    *) start=pmi2 ;;
esac
# Intel MPI finds Slurm's PMI-2 by this library:
# export I_MPI_PMI_LIBRARY=/usr/lib/x86_64-linux-gnu/slurm-wlm/libpmi2.so

# Ranks of different hosts reach each other over this network only, if the hosts have several.
# export LAPWING_TCP_INTERFACE=ib0

lapwing run --mpi "$mpi" --report --output "lapwing-${SLURM_JOB_ID:-0}.txt" -- srun --mpi="$start" "${@:-./program}"
