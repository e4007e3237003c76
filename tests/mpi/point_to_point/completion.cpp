// How a rank completes its requests, and what it compares then.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "completion_calls.hpp"
#include "point_to_point/program.hpp"

namespace point_to_point {
namespace {

// MPI_Testall of MPICH fails if a request is partitioned.
bool is_alone([[maybe_unused]] const Operation& operation) {
#ifdef MPICH_NUMVERSION
    return operation.kind == Operation::Kind::partitioned;
#else
    return false;
#endif
}

// After MPI_Request_get_status of MPICH 5.0 and Intel MPI, the status of a persistent receive is lost.
bool may_get_status(const Operation& operation) {
    static const bool loses = [] {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(version, &length);
        const std::string_view text(version, static_cast<std::size_t>(length));
        const std::size_t number = std::min(text.find_first_of("0123456789"), text.size());
        return text.starts_with("Intel") ||
               (text.starts_with("MPICH Version:") && text.substr(number).starts_with("5."));
    }();
    return !loses || !operation.persistent;
}

}  // namespace

void Program::check_receive(const Operation& operation, const Message& message, std::uint64_t id) const {
    if (operation.has_status) {
        const MPI_Status& status = operation.status;
        const int source = operation.communicator->rank_of(message.from);
        const int count = operation.element.count_in(status);
        int cancelled = 0;
        MPI_Test_cancelled(&status, &cancelled);
        if (status.MPI_SOURCE != source || status.MPI_TAG != message.tag || count != message.elements ||
            cancelled != 0)
            wrong("status of message " + std::to_string(id) + ": source " +
                  std::to_string(status.MPI_SOURCE) + " instead of " + std::to_string(source) + ", tag " +
                  std::to_string(status.MPI_TAG) + " instead of " + std::to_string(message.tag) + ", " +
                  std::to_string(count) + " elements instead of " + std::to_string(message.elements));
    }
    const long byte = operation.buffer.first_difference(id, message.elements);
    if (byte >= 0)
        wrong("data of message " + std::to_string(id) + " from byte " + std::to_string(byte) +
              " of the buffer");
}

void Program::completed(std::size_t index, const MPI_Status* status) {
    std::unique_ptr<Operation> operation = std::move(active_[index]);
    operation->has_status = status != nullptr;
    if (status != nullptr) operation->status = *status;
    check(operation->persistent || operation->request == MPI_REQUEST_NULL, "a complete request is not null");
    check(!operation->persistent || operation->request != MPI_REQUEST_NULL, "a persistent request is null");
    const Kind kind = operation->kind;
    if (kind == Kind::receive && operation->expected != nullptr)
        check_receive(*operation, *operation->expected, operation->id);
    if (kind == Kind::without_peer) {
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 50000000
        // MPICH 4.0 sets source and tag to 0.
        if (operation->needs_status) check_without_peer(operation->status);
#endif
        check(operation->buffer.untouched(), "data from MPI_PROC_NULL");
    }
    if (kind == Kind::collective) check(operation->collective->right(), "a collective");
    if (kind == Kind::partitioned) {
        if (operation->elements > 0)
            check(operation->buffer.first_difference(operation->id, operation->elements) == -1,
                  "a partitioned receive");
        MPI_Request_free(&operation->request);
    }
    if (kind == Kind::receive && operation->expected == nullptr)
        unknown_.push_back(std::move(operation));
    else if (operation->persistent && kind != Kind::partitioned)
        persistent_.push_back(std::move(operation));
    else
        operation->buffer.free_type();
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Program::check_classes() {
    for (const Class& its : round_->classes) {
        if (!its.any_source || round_->messages[as_size(its.messages.front())].to != world_rank) continue;
        std::map<int, std::deque<const Message*>> by_source;
        for (const int index : in_order(its, true)) {
            const Message& message = round_->messages[as_size(index)];
            by_source[peer(message.from)].push_back(&message);
        }
        for (const int index : in_order(its, false)) {
            const auto operation = std::find_if(unknown_.begin(), unknown_.end(),
                                                [&](const auto& one) { return one->message == index; });
            check(operation != unknown_.end() && (*operation)->has_status, "a receive is missing");
            auto& sent = by_source[(*operation)->status.MPI_SOURCE];
            check(!sent.empty(), "a receive of message " + std::to_string(index) + " got one from " +
                                     std::to_string((*operation)->status.MPI_SOURCE) +
                                     ", which sent no more");
            check_receive(**operation, *sent.front(), id_of(*sent.front()));
            sent.pop_front();
        }
    }
    for (auto& one : unknown_)
        if (one->persistent)
            persistent_.push_back(std::move(one));
        else
            one->buffer.free_type();
    unknown_.clear();
}

void Program::poll() {
    if (active_.empty()) return;
    const auto index = as_size(own_.below(static_cast<int>(active_.size())));
    int flag = 0;
    MPI_Status status;
    MPI_Test(&active_[index]->request, &flag, &status);
    if (flag != 0) completed(index, &status);
}

void Program::complete(bool all) {
    Operations staying;
    for (auto one = active_.begin(); !all && one != active_.end();) {
        if ((*one)->may_stay && !(*one)->persistent && own_.one_in(3)) {
            staying.push_back(std::move(*one));
            one = active_.erase(one);
        } else {
            ++one;
        }
    }
    while (!active_.empty()) {
        if (own_.one_in(3)) compute();
        own_.shuffle(active_);
        complete_some();
    }
    active_ = std::move(staying);
}

void Program::complete_some() {
    const auto end =
        std::find_if(active_.begin(), active_.end(), [](const auto& one) { return is_alone(*one); });
    const bool one = own_.one_in(3) || end == active_.begin();
    const int count = one ? 1 : 1 + own_.below(static_cast<int>(end - active_.begin()));
    std::vector<MPI_Request> requests;
    bool needs_status = false;
    for (int i = 0; i < count; ++i) {
        requests.push_back(active_[as_size(i)]->request);
        needs_status = needs_status || active_[as_size(i)]->needs_status;
    }
    // Null requests do not count.
    if (!one && own_.one_in(4)) requests.push_back(MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses;
    const bool ignores = !needs_status && own_.one_in(3);
    const int of_one = completion_calls_for_one - (may_get_status(*active_.front()) ? 0 : 1);
    const auto call = static_cast<CompletionCall>(
        one ? own_.below(of_one) : own_.between(completion_calls_for_one, completion_calls - 1));
    std::vector<int> done;  // the status of each is at the same place of `statuses`
    for (;;) {
        done = complete_by(call, requests, ignores ? nullptr : &statuses);
        if (!done.empty()) break;
        compute();
    }
    if (call == CompletionCall::waitall || call == CompletionCall::testall) done.resize(as_size(count));
    for (int i = 0; i < count; ++i) active_[as_size(i)]->request = requests[as_size(i)];
    std::map<int, const MPI_Status*, std::greater<>> by_index;  // from behind: completed() removes them
    for (std::size_t i = 0; i < done.size(); ++i) {
        check(done[i] >= 0 && done[i] < count &&
                  by_index.emplace(done[i], ignores ? nullptr : &statuses[i]).second,
              "a wrong index");
    }
    for (const auto& [index, status] : by_index) completed(as_size(index), status);
}

}  // namespace point_to_point
