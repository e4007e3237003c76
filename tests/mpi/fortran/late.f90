! The library that late.c loads.
subroutine exchange(comm, errors)
    use mpi
    implicit none
    integer, intent(in) :: comm
    integer, intent(out) :: errors
    integer :: rank, ranks, request, error, i
    integer, allocatable, asynchronous :: sent(:), got(:)

    call MPI_Comm_rank(comm, rank, error)
    call MPI_Comm_size(comm, ranks, error)
    sent = [(100 * rank + i, i=1, ranks)]
    allocate(got(ranks))
    call MPI_Ialltoall(sent, 1, MPI_INTEGER, got, 1, MPI_INTEGER, comm, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    errors = count(got /= [(100 * (i - 1) + rank + 1, i=1, ranks)])
end subroutine
