#!/bin/bash
#PBS -N overlap
#PBS -l select=4:ncpus=8:mpiprocs=8
#PBS -l walltime=00:10:00
# qsub examples/jobs/pbs.sh: a program under Lapwing by the MPI's own launcher, which gets the hosts from PBS.
#
# An Open MPI or MPICH that was built without PBS's library needs the file of hosts: --hostfile or -f "$PBS_NODEFILE".
set -euo pipefail
cd "${PBS_O_WORKDIR:-.}"
# module load lapwing openmpi

# Ranks of different hosts reach each other over this network only, if the hosts have several.
# export LAPWING_TCP_INTERFACE=ib0

ranks=$(wc -l <"${PBS_NODEFILE:?this is a job script: qsub $0}")
lapwing run --report --output "lapwing-${PBS_JOBID:-0}.txt" -- mpirun -n "$ranks" "${@:-./program}"
