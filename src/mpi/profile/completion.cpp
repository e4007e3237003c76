// The calls that start and complete requests.
#include <optional>
#include <span>

#include "mpi/profile/profile.hpp"

namespace {

using lapwing::profile::Completed;
using lapwing::profile::Completing;
using lapwing::profile::CompletingRequests;
using lapwing::profile::free_request;
using lapwing::profile::observed;
using lapwing::profile::observes;
using lapwing::profile::RecordedCall;
using lapwing::profile::start_requests;
using lapwing::profile::Starting;

Completed all_if(bool all) {
    return {all, {}};
}

Completed at(const int* indices, int count) {
    if (count == MPI_UNDEFINED || count <= 0 || indices[0] == MPI_UNDEFINED) return {};
    return {false, {indices, static_cast<std::size_t>(count)}};
}

// `polls`: the call returns at once. `keeps`: the request stays.
struct Way {
    bool polls = false;
    bool keeps = false;
};

template <typename Native, typename GetCompleted>
int completing(const lapwing::CallSite& site, Way way, int count, MPI_Request* handles, Native native,
               GetCompleted completed) {
    if (!observes()) return native();
    std::optional<CompletingRequests> requests;
    std::optional<Completing> call;
    return observed(
        site, native,
        [&](RecordedCall& recorded) {
            requests.emplace(recorded.on() ? count : 0, handles);
            call.emplace(site.address, count, handles);
        },
        [&](RecordedCall& recorded, int error) {
            const Completed done = error == MPI_SUCCESS ? completed() : Completed();
            if (error == MPI_SUCCESS) call->done(way.keeps ? Completed() : done);
            if (!recorded.on()) return;
            if (done.all)
                requests->set_all_complete();
            else
                requests->set_complete(done.indices);
            const std::size_t complete = requests->finish(recorded.call(), way.keeps);
            recorded.call().completed = static_cast<std::uint32_t>(complete);
            if (way.polls && complete == 0 && !recorded.call().requests.empty()) recorded.set_fruitless();
        });
}

template <typename Native>
int starting(const lapwing::CallSite& site, int count, const MPI_Request* handles, Native native) {
    if (!observes() || handles == nullptr) return native();
    std::optional<Starting> call;
    return observed(
        site, native, [&](RecordedCall&) { call.emplace(site.address, count, handles); },
        [&](RecordedCall& recorded, int error) {
            if (error == MPI_SUCCESS) call->done();
            if (recorded.on()) start_requests(recorded.call(), count, handles);
        });
}

}  // namespace

#define LAPWING_HERE(function) \
    { #function, __builtin_return_address(0) }

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    return starting(LAPWING_HERE(MPI_Start), 1, handle, [&] { return NEXT_Start(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    return starting(LAPWING_HERE(MPI_Startall), count, handles,
                    [&] { return NEXT_Startall(count, handles); });
}

LAPWING_MPI MPI_Request_free(MPI_Request* handle) {
    if (!observes() || handle == nullptr) return NEXT_Request_free(handle);
    return observed(
        LAPWING_HERE(MPI_Request_free), [&] { return NEXT_Request_free(handle); },
        [&](RecordedCall& recorded) {
            lapwing::profile::forget(*handle);
            if (recorded.on()) free_request(recorded.call(), *handle);
        },
        [](RecordedCall&, int) {});
}

LAPWING_MPI MPI_Wait(MPI_Request* handle, MPI_Status* status) {
    return completing(
        LAPWING_HERE(MPI_Wait), {}, 1, handle, [&] { return NEXT_Wait(handle, status); },
        [] { return all_if(true); });
}

LAPWING_MPI MPI_Test(MPI_Request* handle, int* flag, MPI_Status* status) {
    return completing(
        LAPWING_HERE(MPI_Test), {.polls = true}, 1, handle, [&] { return NEXT_Test(handle, flag, status); },
        [&] { return all_if(*flag != 0); });
}

LAPWING_MPI MPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE(MPI_Waitall), {}, count, handles, [&] { return NEXT_Waitall(count, handles, statuses); },
        [] { return all_if(true); });
}

LAPWING_MPI MPI_Testall(int count, MPI_Request handles[], int* flag, MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE(MPI_Testall), {.polls = true}, count, handles,
        [&] { return NEXT_Testall(count, handles, flag, statuses); }, [&] { return all_if(*flag != 0); });
}

LAPWING_MPI MPI_Waitany(int count, MPI_Request handles[], int* index, MPI_Status* status) {
    return completing(
        LAPWING_HERE(MPI_Waitany), {}, count, handles,
        [&] { return NEXT_Waitany(count, handles, index, status); }, [&] { return at(index, 1); });
}

LAPWING_MPI MPI_Testany(int count, MPI_Request handles[], int* index, int* flag, MPI_Status* status) {
    return completing(
        LAPWING_HERE(MPI_Testany), {.polls = true}, count, handles,
        [&] { return NEXT_Testany(count, handles, index, flag, status); },
        [&] { return *flag != 0 ? at(index, 1) : Completed(); });
}

LAPWING_MPI MPI_Waitsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE(MPI_Waitsome), {}, count, handles,
        [&] { return NEXT_Waitsome(count, handles, completed, indices, statuses); },
        [&] { return at(indices, *completed); });
}

LAPWING_MPI MPI_Testsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE(MPI_Testsome), {.polls = true}, count, handles,
        [&] { return NEXT_Testsome(count, handles, completed, indices, statuses); },
        [&] { return at(indices, *completed); });
}

LAPWING_MPI MPI_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
    MPI_Request same = handle;
    return completing(
        LAPWING_HERE(MPI_Request_get_status), {.polls = true, .keeps = true}, 1, &same,
        [&] { return NEXT_Request_get_status(handle, flag, status); }, [&] { return all_if(*flag != 0); });
}
