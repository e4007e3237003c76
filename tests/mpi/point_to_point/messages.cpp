// Messages of the plan: how a rank starts its sends and its receives.
#include <algorithm>
#include <utility>

#include "point_to_point/program.hpp"

namespace point_to_point {

void Program::attach(const Round& round) {
    std::size_t bytes = 0;
    for (const Message& message : round.messages) {
        if (message.from != world_rank || !is_buffered(message.send)) continue;
        // MPICH reserves more than the standard's overhead if the type is not contiguous.
        bytes += 2 * as_size(message.elements * element_of(message).size + MPI_BSEND_OVERHEAD) + 1'024;
    }
    if (bytes == 0) return;
    attached_.resize(bytes * as_size(round.iterations));
    MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
}

void Program::detach() {
    void* address = nullptr;
    int size = 0;
    MPI_Buffer_detach(&address, &size);
    check(address == attached_.data() && as_size(size) == attached_.size(),
          "MPI_Buffer_detach returned another buffer");
    attached_.clear();
}

Operation& Program::add(Kind kind) {
    Operation& made = *active_.emplace_back(std::make_unique<Operation>());
    made.kind = kind;
    return made;
}

std::vector<int> Program::in_order(const Class& its, bool sends) const {
    std::vector<int> order = its.messages;
    std::stable_partition(order.begin(), order.end(), [&](int i) {
        const Message& message = round_->messages[as_size(i)];
        return sends ? is_early(message.send) : is_early(message.receive);
    });
    return order;
}

const Message* Program::expected_for(const Message& posted) const {
    const Class& its = round_->class_of(posted);
    if (its.any_source) return nullptr;
    const std::vector<int> receives = in_order(its, false);
    const std::vector<int> sends = in_order(its, true);
    const auto position = std::find(receives.begin(), receives.end(), posted.index) - receives.begin();
    return &round_->messages[as_size(sends[static_cast<std::size_t>(position)])];
}

void Program::prepare_receive(Operation& operation, const Message& message) const {
    operation.element = element_of(message);
    if (operation.buffer.type() == MPI_DATATYPE_NULL) {
        operation.buffer = Buffer(message.received, operation.element,
                                  message.received.rounded(round_->class_of(message).capacity));
    } else {
        operation.buffer.clear();
    }
    operation.communicator = round_->communicator;
    operation.message = message.index;
    operation.of_class = message.of_class;
    operation.expected = expected_for(message);
    operation.id = operation.expected == nullptr ? 0 : id_of(*operation.expected);
    operation.needs_status = operation.expected == nullptr;
    operation.may_stay = operation.expected != nullptr;
    operation.has_status = false;
}

int Program::source_of(const Message& message) const {
    return round_->class_of(message).any_source ? MPI_ANY_SOURCE : peer(message.from);
}

int Program::tag_of(const Message& message) const {
    return round_->class_of(message).any_tag ? MPI_ANY_TAG : message.tag;
}

Operation& Program::add_persistent(Kind kind, const Message& message) {
    Operation& made = *persistent_.emplace_back(std::make_unique<Operation>());
    made.kind = kind;
    made.message = message.index;
    made.persistent = true;
    return made;
}

void Program::make_persistent() {
    for (const Message& message : round_->messages) {
        if (message.from == world_rank && is_persistent(message.send)) {
            Operation& made = add_persistent(Kind::send, message);
            made.buffer = Buffer(message.sent, element_of(message), message.elements);
            const auto init = message.send == Send::send_init    ? MPI_Send_init
                              : message.send == Send::ssend_init ? MPI_Ssend_init
                              : message.send == Send::bsend_init ? MPI_Bsend_init
                                                                 : MPI_Rsend_init;
            init(made.buffer.address(), made.buffer.count(), made.buffer.type(), peer(message.to),
                 message.tag, handle(), &made.request);
            // The type remains in the request.
            if (own_.one_in(3)) made.buffer.free_type();
        }
        if (message.to == world_rank && message.receive == Receive::recv_init) {
            Operation& made = add_persistent(Kind::receive, message);
            prepare_receive(made, message);
            MPI_Recv_init(made.buffer.address(), made.buffer.count(), made.buffer.type(), source_of(message),
                          tag_of(message), handle(), &made.request);
        }
    }
}

void Program::start_if_of_class(Operations& made, int of_class) {
    const bool found =
        std::any_of(made.begin(), made.end(), [&](const auto& one) { return one->of_class == of_class; });
    if (found || own_.one_in(2)) start(made);
}

void Program::start(Operations& made) {
    std::vector<MPI_Request> requests;
    for (auto& one : made) requests.push_back(one->request);
    if (requests.size() == 1 && own_.one_in(2))
        MPI_Start(requests.data());
    else if (!requests.empty())
        MPI_Startall(static_cast<int>(requests.size()), requests.data());
    for (std::size_t i = 0; i < made.size(); ++i) {
        check(made[i]->request == requests[i], "a start changed the request");
        active_.push_back(std::move(made[i]));
    }
    made.clear();
}

std::unique_ptr<Operation> Program::take_persistent(Kind kind, const Message& message) {
    for (auto one = persistent_.begin(); one != persistent_.end(); ++one) {
        if ((*one)->kind != kind || (*one)->message != message.index) continue;
        std::unique_ptr<Operation> taken = std::move(*one);
        persistent_.erase(one);
        return taken;
    }
    wrong("a persistent request is missing");
}

void Program::receive_early() {
    Operations started;
    for (const Message& message : round_->messages) {
        if (message.to != world_rank || !is_early(message.receive)) continue;
        if (message.receive == Receive::recv_init) {
            start_if_of_class(started, message.of_class);
            started.push_back(take_persistent(Kind::receive, message));
            prepare_receive(*started.back(), message);
            continue;
        }
        start(started);
        irecv(message);
    }
    start(started);
}

void Program::irecv(const Message& message) {
    Operation& made = add(Kind::receive);
    prepare_receive(made, message);
    MPI_Irecv(made.buffer.address(), made.buffer.count(), made.buffer.type(), source_of(message),
              tag_of(message), handle(), &made.request);
    if (own_.one_in(2)) made.buffer.free_type();
}

void Program::send_early() {
    Operations started;
    for (const Message& message : round_->messages) {
        if (message.from != world_rank || !is_early(message.send)) continue;
        if (is_persistent(message.send)) {
            start_if_of_class(started, message.of_class);
            started.push_back(take_persistent(Kind::send, message));
            started.back()->of_class = message.of_class;
            started.back()->buffer.fill(id_of(message), message.elements);
            continue;
        }
        start(started);
        Operation& made = add(Kind::send);
        made.may_stay = true;
        made.buffer = Buffer(message.sent, element_of(message), message.elements);
        made.buffer.fill(id_of(message), message.elements);
        const auto isend = message.send == Send::issend   ? MPI_Issend
                           : message.send == Send::ibsend ? MPI_Ibsend
                           : message.send == Send::irsend ? MPI_Irsend
                                                          : MPI_Isend;
        isend(made.buffer.address(), made.buffer.count(), made.buffer.type(), peer(message.to), message.tag,
              handle(), &made.request);
        if (own_.one_in(2)) made.buffer.free_type();
        if (message.send == Send::isend_freed) {
            MPI_Request_free(&made.request);
            kept_.push_back(std::move(active_.back()));
            active_.pop_back();
            kept_.back()->buffer.free_type();
        }
    }
    start(started);
}

void Program::walk() {
    for (const Message& message : round_->messages) {
        if (round_->ring_at == message.index) shift();
        if (message.from == world_rank && !is_early(message.send)) send(message);
        if (message.to == world_rank && !is_early(message.receive)) receive_late(message);
        if (own_.one_in(8)) poll();
    }
}

void Program::send(const Message& message) {
    Buffer buffer(message.sent, element_of(message), message.elements);
    buffer.fill(id_of(message), message.elements);
    const auto call = message.send == Send::ssend   ? MPI_Ssend
                      : message.send == Send::bsend ? MPI_Bsend
                      : message.send == Send::rsend ? MPI_Rsend
                                                    : MPI_Send;
    call(buffer.address(), buffer.count(), buffer.type(), peer(message.to), message.tag, handle());
    buffer.free_type();
}

void Program::receive_late(const Message& message) {
    if (message.receive == Receive::late_irecv) return irecv(message);
    Operation& made = add(Kind::receive);
    prepare_receive(made, message);
    const int source = source_of(message);
    const int tag = tag_of(message);
    MPI_Status probed;
    MPI_Message matched = MPI_MESSAGE_NULL;
    int found = 0;
    switch (message.receive) {
        case Receive::recv:
            MPI_Recv(made.buffer.address(), made.buffer.count(), made.buffer.type(), source, tag, handle(),
                     &made.status);
            break;
        case Receive::probe:
        case Receive::iprobe:
            if (message.receive == Receive::probe) MPI_Probe(source, tag, handle(), &probed);
            while (message.receive == Receive::iprobe && found == 0) {
                MPI_Iprobe(source, tag, handle(), &found, &probed);
                if (found == 0) compute();
            }
            MPI_Recv(made.buffer.address(), made.buffer.count(), made.buffer.type(), probed.MPI_SOURCE,
                     probed.MPI_TAG, handle(), &made.status);
            check(probed.MPI_SOURCE == made.status.MPI_SOURCE && probed.MPI_TAG == made.status.MPI_TAG &&
                      made.element.count_in(probed) == made.element.count_in(made.status),
                  "a probe and its receive differ");
            break;
        default:
            if (message.receive == Receive::mprobe || message.receive == Receive::mprobe_imrecv)
                MPI_Mprobe(source, tag, handle(), &matched, &probed);
            while (matched == MPI_MESSAGE_NULL) {
                MPI_Improbe(source, tag, handle(), &found, &matched, &probed);
                if (found == 0) compute();
            }
            if (message.receive == Receive::mprobe_imrecv || message.receive == Receive::improbe_imrecv) {
                MPI_Imrecv(made.buffer.address(), made.buffer.count(), made.buffer.type(), &matched,
                           &made.request);
                check(matched == MPI_MESSAGE_NULL, "MPI_Imrecv left the message");
                return;
            }
            MPI_Mrecv(made.buffer.address(), made.buffer.count(), made.buffer.type(), &matched, &made.status);
            check(matched == MPI_MESSAGE_NULL, "MPI_Mrecv left the message");
    }
    completed(active_.size() - 1, &made.status);
}

void Program::free_persistent() {
    for (auto& one : persistent_) {
        MPI_Request_free(&one->request);
        check(one->request == MPI_REQUEST_NULL, "a freed request is not null");
        one->buffer.free_type();
    }
    persistent_.clear();
}

}  // namespace point_to_point
