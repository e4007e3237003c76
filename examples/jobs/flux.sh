#!/bin/bash
#flux: --job-name=overlap
#flux: --nodes=4
#flux: --time-limit=10m
# flux batch examples/jobs/flux.sh: a program under Lapwing by flux run.
#
# flux run serves every MPI, so `lapwing run` has to be told which one (--mpi openmpi, mpich or abi). MPICH meets Flux by PMI-1 without
# an option; Open MPI 5 by PMIx, which is a plugin of its own (flux-pmix) and asked for by -o pmi=pmix.
set -euo pipefail
# module load lapwing openmpi

mpi=${JOB_MPI:-openmpi}
options=()
[[ $mpi != openmpi ]] || options=(-o pmi=pmix)

# Ranks of different hosts reach each other over this network only, if the hosts have several.
# export LAPWING_TCP_INTERFACE=ib0

lapwing run --mpi "$mpi" --report --output lapwing.txt -- flux run -n 32 "${options[@]}" "${@:-./program}"
