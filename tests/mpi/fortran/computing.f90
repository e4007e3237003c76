! Two ranks exchange 8 MiB. With the argument "watch", a rank calls no MPI function until its last element has come:
! a thread must drive the MPI.
program computing
    use mpi
    implicit none
    integer, parameter :: length = 2097152
    integer, volatile, save :: in(length), out(length)
    integer :: rank, other, requests(2), statuses(MPI_STATUS_SIZE, 2), error
    character(len=16) :: argument

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call get_command_argument(1, argument)
    other = 1 - rank
    in = -1
    out = rank
    call MPI_Irecv(in, length, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(out, length, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2), error)
    if (argument == "watch") then
        do while (in(length) == -1)
        end do
    end if
    call MPI_Waitall(2, requests, statuses, error)
    if (any(in /= other)) call MPI_Abort(MPI_COMM_WORLD, 3, error)
    if (rank == 0) print '(a)', 'all right'
    call MPI_Finalize(error)
end program
