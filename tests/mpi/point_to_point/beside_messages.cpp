// What a program does beside the messages of the plan.
#include "point_to_point/program.hpp"

namespace point_to_point {
namespace {

constexpr int tag_without_message = 32'000;  // of receives that match no message

}  // namespace

void Program::shift() {
    const int to = (world_rank + 1) % world_ranks;
    const int from = (world_rank + world_ranks - 1) % world_ranks;
    const int elements = 20'000 + 100 * (number_ % 7);
    const std::uint64_t id = as_size(number_ * 1'000 + iteration_ * 100);
    const Element element = {MPI_INT, 4};
    Buffer out({}, element, elements);
    Buffer in({}, element, elements);
    out.fill(id + as_size(world_rank), elements);
    MPI_Status status;
    const bool replaces = number_ % 2 == 0;
    if (replaces)
        MPI_Sendrecv_replace(out.address(), elements, MPI_INT, to, 5, from, 5, communicators_.ring, &status);
    else
        MPI_Sendrecv(out.address(), elements, MPI_INT, to, 5, in.address(), elements, MPI_INT, from, 5,
                     communicators_.ring, &status);
    check(status.MPI_SOURCE == from && status.MPI_TAG == 5 && element.count_in(status) == elements,
          "status of MPI_Sendrecv");
    check((replaces ? out : in).first_difference(id + as_size(from), elements) == -1, "data of MPI_Sendrecv");
}

void Program::post_without_message() {
    const std::vector<int>& group = round_->communicator->groups.front();
    if (handle() == MPI_COMM_NULL || group.empty()) return;
    Operation& made = *without_message_.emplace_back(std::make_unique<Operation>());
    const int elements = own_.one_in(2) ? 100 : 100'000;
    made.buffer = Buffer({}, {MPI_BYTE, 1}, elements);
    MPI_Irecv(made.buffer.address(), elements, MPI_BYTE, own_.one_in(2) ? MPI_ANY_SOURCE : 0,
              tag_without_message, handle(), &made.request);
}

void Program::cancel() {
    for (auto& one : without_message_) {
        MPI_Status status;
        int flag = 0;
        if (own_.one_in(2)) {
            MPI_Test(&one->request, &flag, &status);
            check(flag == 0, "a receive without a message is complete");
            compute();
        }
        MPI_Cancel(&one->request);
        if (own_.one_in(2))
            MPI_Wait(&one->request, &status);
        else
            while (flag == 0) MPI_Test(&one->request, &flag, &status);
        MPI_Test_cancelled(&status, &flag);
        check(flag != 0, "a receive without a message is not cancelled");
        check(one->buffer.untouched(), "a cancelled receive has data");
    }
    without_message_.clear();
}

void Program::without_peer() {
    if (handle() == MPI_COMM_NULL) return;
    const Element element{MPI_BYTE, 1};
    Buffer buffer({}, element, 100'000);
    MPI_Status status;
    const int way = own_.below(5);
    if (way == 0) MPI_Recv(buffer.address(), 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle(), &status);
    if (way == 1)
        MPI_Sendrecv(buffer.address(), 9, MPI_BYTE, MPI_PROC_NULL, 3, buffer.address(), 9, MPI_BYTE,
                     MPI_PROC_NULL, 3, handle(), &status);
    if (way == 2) MPI_Probe(MPI_PROC_NULL, 3, handle(), &status);
    if (way < 3) check_without_peer(status);
    if (way == 2) MPI_Send(buffer.address(), 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle());
    if (way < 3) return;
    Operation& made = add(Kind::without_peer);
    made.buffer = Buffer({}, element, 100'000);
    made.may_stay = true;
    made.needs_status = own_.one_in(2);
    void* const address = made.buffer.address();
    if (made.needs_status)
        MPI_Irecv(address, 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle(), &made.request);
    else
        MPI_Isend(address, 100'000, MPI_BYTE, MPI_PROC_NULL, 3, handle(), &made.request);
}

void Program::check_without_peer(const MPI_Status& status) const {
    check(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG &&
              Element().count_in(status) == 0,
          "status of MPI_PROC_NULL");
}

void Program::start_collective() {
    Operation& made = add(Kind::collective);
    made.may_stay = true;
    Random random(as_size(number_ * 10 + iteration_));
    made.collective.emplace(communicators_.all, random, number_ % 2 == 0 ? 3 : 10'000);
    made.request = made.collective->request;
}

void Program::blocking_collective(int which) {
    int sum = 0;
    if (which == 0) {
        MPI_Barrier(communicators_.all);
    } else if (which == 1) {
        MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, communicators_.all);
        check(sum == world_ranks * (world_ranks - 1) / 2, "MPI_Allreduce");
    } else {
        std::vector<int> data(20'000, world_rank == 0 ? number_ : -1);
        MPI_Bcast(data.data(), 20'000, MPI_INT, 0, communicators_.all);
        check(data == std::vector<int>(20'000, number_), "MPI_Bcast");
    }
}

void Program::start_partitioned() {
#if MPI_VERSION >= 4
    if (iteration_ > 0) return;
    const int partitions = round_->partitions;
    const int each = number_ % 3 == 0 ? 10 : 20'000;
    const int elements = partitions * each;
    const Element element{MPI_INT, 4};
    Operation& receive = add(Kind::partitioned);
    receive.persistent = true;
    receive.buffer = Buffer({}, element, elements);
    receive.elements = elements;
    receive.id = as_size(number_ * 1'000 + (world_rank + world_ranks - 1) % world_ranks);
    MPI_Precv_init(receive.buffer.address(), partitions, each, MPI_INT,
                   (world_rank + world_ranks - 1) % world_ranks, number_, communicators_.ring, MPI_INFO_NULL,
                   &receive.request);
    Operation& send = add(Kind::partitioned);
    send.persistent = true;
    send.buffer = Buffer({}, element, elements);
    send.buffer.fill(as_size(number_ * 1'000 + world_rank), elements);
    MPI_Psend_init(send.buffer.address(), partitions, each, MPI_INT, (world_rank + 1) % world_ranks, number_,
                   communicators_.ring, MPI_INFO_NULL, &send.request);
    MPI_Start(&receive.request);
    MPI_Start(&send.request);
    std::vector<int> order = ranks_from(0, partitions);
    own_.shuffle(order);
    for (const int partition : order) {
        if (own_.one_in(4)) compute();
        MPI_Pready(partition, send.request);
    }
    int arrived = 0;
    if (own_.one_in(2)) MPI_Parrived(receive.request, own_.below(partitions), &arrived);
#endif
}

}  // namespace point_to_point
