! Fortran 2008, mpi_f08: every nonblocking collective, every completion call, results checked.
module checks
    use mpi_f08
    implicit none
    integer :: rank, ranks, errors = 0
contains
    subroutine check(right, what)
        logical, intent(in) :: right
        character(*), intent(in) :: what
        if (right) return
        errors = errors + 1
        print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
    end subroutine

    ! What `from` sends to `to`.
    elemental integer function item(from, to, i)
        integer, intent(in) :: from, to, i
        item = 10000 * from + 100 * to + i
    end function

    ! Does not commute: the left operand's decimals stand before the right one's.
    subroutine append(left, right, length, datatype)
        use, intrinsic :: iso_c_binding
        type(c_ptr), value :: left, right
        integer :: length
        type(MPI_Datatype) :: datatype
        integer(c_long_long), pointer :: a(:), b(:)
        integer :: digits, i
        if (datatype /= MPI_INTEGER8) return
        call c_f_pointer(left, a, [length])
        call c_f_pointer(right, b, [length])
        do i = 1, length
            digits = 1
            do while (b(i) >= 10_c_long_long**digits)
                digits = digits + 1
            end do
            b(i) = a(i) * 10_c_long_long**digits + b(i)
        end do
    end subroutine
end module

program f08
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use checks
    implicit none
    integer :: provided, all_errors

    call MPI_Init_thread(MPI_THREAD_SINGLE, provided)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call moving(MPI_COMM_WORLD)
    call blocks(MPI_COMM_WORLD)
    call reducing(MPI_COMM_WORLD)
    call addresses(MPI_COMM_WORLD)
    call neighbours()
    call indices(MPI_COMM_WORLD)
    call communicators()
    call MPI_Allreduce(errors, all_errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
    if (all_errors /= 0) error stop 1
contains
    ! One way of completion each; all flags and statuses are looked at.
    subroutine moving(comm)
        type(MPI_Comm), intent(in) :: comm
        integer, asynchronous :: all(3, 0:ranks - 1), other(3, 0:ranks - 1), own(3)
        type(MPI_Request) :: request, requests(2)
        type(MPI_Status) :: status, statuses(2)
        logical :: flag
        integer :: from, i

        call MPI_Ibarrier(comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(request == MPI_REQUEST_NULL, 'request after wait')

        own = merge([7, 8, 9], [0, 0, 0], rank == ranks - 1)
        call MPI_Ibcast(own, 3, MPI_INTEGER, ranks - 1, comm, request)
        call MPI_Wait(request, status)
        call check(all_equal(own, [7, 8, 9]), 'bcast')

        own = item(rank, 0, [1, 2, 3])
        call MPI_Iallgather(own, 3, MPI_INTEGER, all, 3, MPI_INTEGER, comm, request)
        flag = .false.
        do while (.not. flag)
            call MPI_Test(request, flag, MPI_STATUS_IGNORE)
        end do
        call check(all_equal([all], [((item(from, 0, i), i=1, 3), from=0, ranks - 1)]), 'allgather')
        all = -1
        all(:, rank) = own
        call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INTEGER, comm, request)
        flag = .false.
        do while (.not. flag)
            call MPI_Request_get_status(request, flag, status)
        end do
        call check(request /= MPI_REQUEST_NULL, 'request after get_status')
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal([all], [((item(from, 0, i), i=1, 3), from=0, ranks - 1)]), 'allgather in place')

        all = reshape([((item(rank, from, i), i=1, 3), from=0, ranks - 1)], shape(all))
        call MPI_Ialltoall(all, 3, MPI_INTEGER, other, 3, MPI_INTEGER, comm, requests(1))
        requests(2) = MPI_REQUEST_NULL
        call MPI_Waitall(2, requests, statuses)
        call check(all_equal([other], [((item(from, rank, i), i=1, 3), from=0, ranks - 1)]), 'alltoall')
        call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INTEGER, comm, requests(1))
        call MPI_Ibarrier(comm, requests(2))
        flag = .false.
        do while (.not. flag)
            call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE)
        end do
        call check(all_equal([all], [other]), 'alltoall in place')
        call check(requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL, 'after testall')

        own = item(rank, 1, [1, 2, 3])
        all = -1
        call MPI_Igather(own, 3, MPI_INTEGER, all, 3, MPI_INTEGER, 0, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        if (rank == 0) &
            call check(all_equal([all], [((item(from, 1, i), i=1, 3), from=0, ranks - 1)]), 'gather')
        own = -1
        call MPI_Iscatter(all, 3, MPI_INTEGER, own, 3, MPI_INTEGER, 0, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(own, item(rank, 1, [1, 2, 3])), 'scatter')
    end subroutine

    ! Rank r sends r + 1 elements to everybody; blocks stand from the last to the first, with gaps.
    subroutine blocks(comm)
        type(MPI_Comm), intent(in) :: comm
        integer, asynchronous :: own(rank + 1), sent((rank + 1) * ranks), all(ranks * (ranks + 2))
        integer :: counts(0:ranks - 1), places(0:ranks - 1), same(0:ranks - 1), mine(0:ranks - 1)
        type(MPI_Datatype) :: types(0:ranks - 1)
        type(MPI_Request) :: request
        integer :: to, i

        counts = [(i + 1, i=0, ranks - 1)]
        places = [((ranks - 1 - i) * (ranks + 2), i=0, ranks - 1)]
        own = item(rank, 0, [(i, i=1, rank + 1)])
        all = -1
        call MPI_Iallgatherv(own, rank + 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check_blocks(all, 0, 'allgatherv')
        all = -1
        call MPI_Igatherv(own, rank + 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, 0, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        if (rank == 0) call check_blocks(all, 0, 'gatherv')
        own = -1
        call MPI_Iscatterv(all, counts, places, MPI_INTEGER, own, rank + 1, MPI_INTEGER, 0, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(own, item(rank, 0, [(i, i=1, rank + 1)])), 'scatterv')

        same = rank + 1
        mine = [(i * (rank + 1), i=0, ranks - 1)]
        sent = [((item(rank, to, i), i=1, rank + 1), to=0, ranks - 1)]
        all = -1
        call MPI_Ialltoallv(sent, same, mine, MPI_INTEGER, all, counts, places, MPI_INTEGER, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check_blocks(all, rank, 'alltoallv')
        ! Displacements in bytes, and arrays that change as soon as the call has returned.
        types = MPI_INTEGER
        mine = 4 * mine
        places = 4 * places
        all = -1
        call MPI_Ialltoallw(sent, same, mine, types, all, counts, places, types, comm, request)
        types = MPI_DATATYPE_NULL
        mine = 0
        places = 0
        counts = 0
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check_blocks(all, rank, 'alltoallw')
    end subroutine

    subroutine check_blocks(all, to, what)
        integer, intent(in) :: all(ranks + 2, ranks), to
        character(*), intent(in) :: what
        integer :: from, i
        do from = 0, ranks - 1
            call check(all_equal(all(:, ranks - from), &
                                 [(merge(item(from, to, i), -1, i <= from + 1), i=1, ranks + 2)]), what)
        end do
    end subroutine

    subroutine reducing(comm)
        type(MPI_Comm), intent(in) :: comm
        integer, asynchronous :: mine(2), result(2), list(0:ranks - 1)
        integer(int64), asynchronous :: digits(2), joined(2)
        real(real64), asynchronous :: real_sum
        logical, asynchronous :: truth(2)
        integer :: counts(0:ranks - 1), i
        type(MPI_Op) :: op
        type(MPI_Request) :: request

        mine = [rank, -rank]
        call MPI_Iallreduce(mine, result, 2, MPI_INTEGER, MPI_MAX, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(result, [ranks - 1, 0]), 'allreduce')
        real_sum = rank + 0.5_real64
        call MPI_Iallreduce(MPI_IN_PLACE, real_sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(nint(2 * real_sum) == ranks * ranks, 'allreduce in place')
        truth = [.true., rank /= 0]
        call MPI_Iallreduce(MPI_IN_PLACE, truth, 2, MPI_LOGICAL, MPI_LAND, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(truth(1) .and. .not. truth(2), 'allreduce of logicals')

        ! The operator is freed while it is needed.
        digits = [rank + 1, 9 - rank]
        call MPI_Op_create(append, .false., op)
        call MPI_Iallreduce(digits, joined, 2, MPI_INTEGER8, op, comm, request)
        call MPI_Op_free(op)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(joined(1) == joined_digits(1, ranks, 1), 'operator of the program')
        call check(joined(2) == joined_digits(9, 10 - ranks, -1), 'operator of the program, second element')
        call MPI_Op_create(append, .false., op)
        joined = 0
        call MPI_Ireduce(digits, joined, 2, MPI_INTEGER8, op, ranks - 1, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(joined(1) == merge(joined_digits(1, ranks, 1), 0_int64, rank == ranks - 1), 'reduce')
        call MPI_Iscan(digits, joined, 2, MPI_INTEGER8, op, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(joined(1) == joined_digits(1, rank + 1, 1), 'scan')
        joined = -1
        call MPI_Iexscan(digits, joined, 2, MPI_INTEGER8, op, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(joined(1) == merge(joined_digits(1, rank, 1), -1_int64, rank > 0), 'exscan')
        call MPI_Op_free(op)

        list = [(rank + i, i=0, ranks - 1)]
        call MPI_Ireduce_scatter_block(list, result, 1, MPI_INTEGER, MPI_SUM, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(result(1) == ranks * (ranks - 1) / 2 + ranks * rank, 'reduce_scatter_block')
        counts = 0
        counts(ranks - 1) = min(2, ranks)
        call MPI_Ireduce_scatter(list, result, counts, MPI_INTEGER, MPI_SUM, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        if (rank == ranks - 1) call check(result(1) == ranks * (ranks - 1) / 2, 'reduce_scatter')
    end subroutine

    ! The decimals first, first + step, ..., last, one after the other.
    integer(int64) function joined_digits(first, last, step)
        integer, intent(in) :: first, last, step
        integer :: i
        joined_digits = 0
        do i = first, last, step
            joined_digits = 10 * joined_digits + i
        end do
    end function

    ! MPI_BOTTOM with absolute addresses, and a type that is freed while it is needed.
    subroutine addresses(comm)
        type(MPI_Comm), intent(in) :: comm
        integer, asynchronous, target :: first(2), second(3)
        integer(MPI_ADDRESS_KIND) :: places(2)
        type(MPI_Datatype) :: scattered
        type(MPI_Request) :: request

        first = merge([1, 2], [0, 0], rank == 0)
        second = merge([3, 4, 5], [0, 0, 0], rank == 0)
        call MPI_Get_address(first, places(1))
        call MPI_Get_address(second, places(2))
        call MPI_Type_create_hindexed(2, [2, 3], places, MPI_INTEGER, scattered)
        call MPI_Type_commit(scattered)
        call MPI_Ibcast(MPI_BOTTOM, 1, scattered, 0, comm, request)
        call MPI_Type_free(scattered)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_F_sync_reg(first)
        call MPI_F_sync_reg(second)
        call check(all_equal(first, [1, 2]) .and. all_equal(second, [3, 4, 5]), 'bcast from MPI_BOTTOM')
    end subroutine

    ! A ring by a grid, and by a distributed graph with MPI_UNWEIGHTED.
    subroutine neighbours()
        type(MPI_Comm) :: line, graph
        type(MPI_Request) :: request
        integer, asynchronous :: sent(2), got(2), pair(2)
        integer(MPI_ADDRESS_KIND) :: places(2)
        integer :: before, after

        call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.false.], .false., line)
        before = rank - 1
        after = merge(rank + 1, -1, rank < ranks - 1)
        sent = rank
        got = -1
        call MPI_Ineighbor_allgather(sent, 1, MPI_INTEGER, got, 1, MPI_INTEGER, line, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(got, [before, after]), 'neighbor_allgather')
        pair = [10 * rank, 10 * rank + 1]
        got = -1
        call MPI_Ineighbor_alltoall(pair, 1, MPI_INTEGER, got, 1, MPI_INTEGER, line, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(got, [merge(10 * before + 1, -1, before >= 0), &
                                   merge(10 * after, -1, after >= 0)]), 'neighbor_alltoall')
        got = -1
        call MPI_Ineighbor_alltoallv(pair, [1, 1], [0, 1], MPI_INTEGER, got, [1, 1], [1, 0], MPI_INTEGER, &
                                     line, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(got, [merge(10 * after, -1, after >= 0), &
                                   merge(10 * before + 1, -1, before >= 0)]), 'neighbor_alltoallv')
        call MPI_Comm_free(line)

        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [modulo(rank - 1, ranks)], MPI_UNWEIGHTED, &
                                            1, [modulo(rank + 1, ranks)], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                            .false., graph)
        got = -1
        call MPI_Ineighbor_allgatherv(sent, 1, MPI_INTEGER, got, [1], [1], MPI_INTEGER, graph, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(got, [-1, modulo(rank - 1, ranks)]), 'neighbor_allgatherv')
        places = [4, 0]
        got = -1
        call MPI_Ineighbor_alltoallw(pair, [1], places(1:1), [MPI_INTEGER], got, [1], places(2:2), &
                                     [MPI_INTEGER], graph, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(all_equal(got, [10 * modulo(rank - 1, ranks) + 1, -1]), 'neighbor_alltoallw')
        call MPI_Comm_free(graph)
    end subroutine

    ! Collectives and messages in one array, by each call that gives indices: every one once.
    subroutine indices(comm)
        type(MPI_Comm), intent(in) :: comm
        integer, parameter :: number = 5
        type(MPI_Request) :: requests(number)
        type(MPI_Status) :: status, statuses(number)
        integer, asynchronous :: sums(number), message
        integer :: which(number), seen(number), how, count, shift, i
        logical :: flag

        ! In the mpi_f08 of MPICH 4.0 these indices count from 0, of messages as well.
        call MPI_Irecv(message, 1, MPI_INTEGER, rank, 0, comm, requests(1))
        call MPI_Send(rank, 1, MPI_INTEGER, rank, 0, comm)
        call MPI_Waitsome(1, requests, count, which, MPI_STATUSES_IGNORE)
        shift = 1 - which(1)
        call check(shift == 0 .or. shift == 1, 'index of one message')
        do how = 1, 4
            seen = 0
            sums = rank
            do i = 1, number - 2
                call MPI_Iallreduce(MPI_IN_PLACE, sums(i), 1, MPI_INTEGER, MPI_SUM, comm, requests(i))
            end do
            requests(number - 1) = MPI_REQUEST_NULL
            message = -1
            call MPI_Irecv(message, 1, MPI_INTEGER, modulo(rank - 1, ranks), how, comm, requests(number))
            call MPI_Send(rank, 1, MPI_INTEGER, modulo(rank + 1, ranks), how, comm)
            do while (sum(seen) < number - 1)
                select case (how)
                case (1)
                    call MPI_Waitany(number, requests, which(1), status)
                    count = 1
                case (2)
                    call MPI_Testany(number, requests, which(1), flag, status)
                    if (.not. flag) cycle
                    count = 1
                case (3)
                    call MPI_Waitsome(number, requests, count, which, statuses)
                case (4)
                    call MPI_Testsome(number, requests, count, which, statuses)
                end select
                if (how <= 2) statuses(1) = status
                which(:count) = which(:count) + shift
                do i = 1, count
                    if (which(i) < 1 .or. which(i) > number) error stop 'index out of range'
                    seen(which(i)) = seen(which(i)) + 1
                    call check(requests(which(i)) == MPI_REQUEST_NULL, 'request of an index')
                    if (which(i) == number) call check(statuses(i)%MPI_TAG == how, 'status of an index')
                end do
            end do
            call check(all_equal(seen, [1, 1, 1, 0, 1]), 'indices')
            call check(all(sums(:number - 2) == ranks * (ranks - 1) / 2), 'sums of indices')
            call check(message == modulo(rank - 1, ranks), 'message among collectives')
        end do
    end subroutine

    ! Communicators that are made, duplicated and freed with collectives in flight.
    subroutine communicators()
        type(MPI_Comm) :: half, copy
        type(MPI_Request) :: request
        integer, asynchronous :: sum, members

        members = 0
        call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), -rank, half)
        sum = 1
        call MPI_Iallreduce(sum, members, 1, MPI_INTEGER, MPI_SUM, half, request)
        call MPI_Comm_dup(half, copy)
        call MPI_Comm_free(half)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(members == (ranks + 1 - modulo(rank, 2)) / 2, 'split')
        call MPI_Iallreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, copy, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(sum == members, 'dup')
        call MPI_Comm_free(copy)
    end subroutine

    logical function all_equal(a, b)
        integer, intent(in) :: a(:), b(:)
        all_equal = size(a) == size(b) .and. all(a == b)
    end function
end program
