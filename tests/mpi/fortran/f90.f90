! `use mpi` or, with MPIF_H, `include 'mpif.h'`, in a program that is C in part: each language completes requests of
! the other.
program f90
#ifdef MPIF_H
    implicit none
    include 'mpif.h'
#else
    use mpi
    implicit none
#endif
    interface
        ! mixed.c
        subroutine start_in_c(comm, sent, received, request) bind(c)
            use, intrinsic :: iso_c_binding, only: c_int
            integer(c_int), value :: comm
            integer(c_int) :: sent(*), received(*), request
        end subroutine
        subroutine wait_in_c(request) bind(c)
            use, intrinsic :: iso_c_binding, only: c_int
            integer(c_int) :: request
        end subroutine
    end interface
    integer :: rank, ranks, errors, all_errors, error
    integer :: request, requests(3), statuses(MPI_STATUS_SIZE, 3), status(MPI_STATUS_SIZE), which(3), seen(3)
    integer :: i, count, op, pair, number, one, sum
    integer, allocatable :: sent(:), received(:)
    double precision :: numbers(2), both(2)
    external :: complex_product

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    errors = 0
    allocate(sent(ranks), received(ranks))

    ! C starts, Fortran waits; and the other way.
    sent = [(100 * rank + i, i=0, ranks - 1)]
    received = -1
    call start_in_c(MPI_COMM_WORLD, sent, received, request)
    call MPI_Wait(request, status, error)
    call check(all(received == [(100 * i + rank, i=0, ranks - 1)]), 'request from C')
    call check(request == MPI_REQUEST_NULL, 'request after the wait')
    received = -1
    call MPI_Ialltoall(sent, 1, MPI_INTEGER, received, 1, MPI_INTEGER, MPI_COMM_WORLD, request, &
                       error)
    call wait_in_c(request)
    call check(all(received == [(100 * i + rank, i=0, ranks - 1)]), 'wait in C')
    call check(request == MPI_REQUEST_NULL, 'request after the wait in C')

    ! In place.
    received = -1
    received(rank + 1) = rank
    call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received, 1, MPI_INTEGER, MPI_COMM_WORLD, &
                        requests(1), error)
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, error)
    call check(all(received == [(i, i=0, ranks - 1)]), 'allgather in place')

    ! An operator of the program on a type of its own: products of complex numbers.
    call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, pair, error)
    call MPI_Type_commit(pair, error)
    call MPI_Op_create(complex_product, .true., op, error)
    numbers = [0d0, 1d0]
    call MPI_Iallreduce(numbers, both, 1, pair, op, MPI_COMM_WORLD, request, error)
    call MPI_Op_free(op, error)
    call MPI_Type_free(pair, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call check(nint(both(1)) == nint(real((0., 1.)**ranks)), 'real part')
    call check(nint(both(2)) == nint(aimag((0., 1.)**ranks)), 'imaginary part')

    ! Indices count from 1; a message among the collectives has a status.
    seen = 0
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), error)
    call MPI_Irecv(number, 1, MPI_INTEGER, modulo(rank - 1, ranks), 7, MPI_COMM_WORLD, requests(2), error)
    call MPI_Send(rank, 1, MPI_INTEGER, modulo(rank + 1, ranks), 7, MPI_COMM_WORLD, error)
    one = 1
    sum = 0
    call MPI_Iallreduce(one, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(3), error)
    do
        call MPI_Testsome(3, requests, count, which, statuses, error)
        if (count == MPI_UNDEFINED) exit
        do i = 1, count
            seen(which(i)) = seen(which(i)) + 1
            if (which(i) == 2) call check(statuses(MPI_TAG, i) == 7, 'status of a message')
        end do
    end do
    call check(all(seen == 1) .and. sum == ranks .and. number == modulo(rank - 1, ranks), 'indices')

    call MPI_Allreduce(errors, all_errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Finalize(error)
    if (all_errors /= 0) stop 1
contains
    subroutine check(right, what)
        logical, intent(in) :: right
        character(*), intent(in) :: what
        if (right .and. error == MPI_SUCCESS) return
        errors = errors + 1
        print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
    end subroutine
end program

subroutine complex_product(left, right, length, datatype)
    implicit none
    integer :: length, datatype
    double precision :: left(2, length), right(2, length)
    double precision :: real_part
    integer :: i
    do i = 1, length
        real_part = left(1, i) * right(1, i) - left(2, i) * right(2, i)
        right(2, i) = left(1, i) * right(2, i) + left(2, i) * right(1, i)
        right(1, i) = real_part
    end do
end subroutine
