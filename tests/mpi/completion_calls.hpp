// The calls by which MPI completes requests, for programs that draw one of them.
#pragma once

#include <mpi.h>

#include <numeric>
#include <vector>

// The first three complete one request.
enum class CompletionCall { wait, test, get_status, waitany, testany, waitsome, testsome, waitall, testall };
constexpr int completion_calls_for_one = 3;
constexpr int completion_calls = 9;

// Completes the first request, or some of all requests. Returns the indices of those that are complete now,
// which may be none; MPI_UNDEFINED alone if no request is active. `statuses`: those of the indices; null:
// ignored.
inline std::vector<int> complete_by(CompletionCall call, std::vector<MPI_Request>& requests,
                                    std::vector<MPI_Status>* statuses) {
    const auto count = static_cast<int>(requests.size());
    MPI_Status* each = MPI_STATUSES_IGNORE;
    MPI_Status* one = MPI_STATUS_IGNORE;
    if (statuses != nullptr) {
        statuses->resize(requests.size());
        each = one = statuses->data();
    }
    std::vector<int> indices(requests.size());
    std::iota(indices.begin(), indices.end(), 0);
    int flag = 1;
    int found = 1;
    using enum CompletionCall;
    if (call == wait) MPI_Wait(requests.data(), one);
    if (call == get_status) MPI_Request_get_status(requests[0], &flag, one);
    if (call == test || (call == get_status && flag != 0)) MPI_Test(requests.data(), &flag, one);
    if (call == waitany) MPI_Waitany(count, requests.data(), indices.data(), one);
    if (call == testany) MPI_Testany(count, requests.data(), indices.data(), &flag, one);
    if (call == waitsome) MPI_Waitsome(count, requests.data(), &found, indices.data(), each);
    if (call == testsome) MPI_Testsome(count, requests.data(), &found, indices.data(), each);
    if (call == waitall) MPI_Waitall(count, requests.data(), each);
    if (call == testall) MPI_Testall(count, requests.data(), &flag, each);
    if (call == waitall || call == testall) found = count;
    if (flag == 0) return {};
    if (found == MPI_UNDEFINED) return {MPI_UNDEFINED};
    indices.resize(static_cast<std::size_t>(found));
    return indices;
}
