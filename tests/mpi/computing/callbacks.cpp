// The program's functions, which the MPI must call in the program's threads.
#include <dlfcn.h>

#include <atomic>
#include <thread>

#if !defined(OPEN_MPI) && __has_include(<ucp/api/ucp.h>)
#include <ucp/api/ucp.h>
#define HAS_UCX
#endif

#include "computing/exchange.hpp"

namespace computing {
namespace {

// Main starts each part in this thread.
const std::thread::id main_thread = std::this_thread::get_id();
std::atomic<int> on_main_thread{0};
std::atomic<int> elsewhere{0};
void note_thread() {
    ++(std::this_thread::get_id() == main_thread ? on_main_thread : elsewhere);
}

void sum(void* in, void* out, int* count, MPI_Datatype*) {
    note_thread();
    for (int i = 0; i < *count; ++i) static_cast<int*>(out)[i] += static_cast<int*>(in)[i];
}
void reduction() {
    MPI_Op operation = MPI_OP_NULL;
    MPI_Op_create(sum, 1, &operation);
    for (int round = 0; round < 3; ++round) {
        Exchange exchange;
        exchange.start('a');
        std::vector<int> in(100'000, rank() + 1);
        std::vector<int> out(in.size(), 0);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, operation, MPI_COMM_WORLD,
                       &request);
        compute(std::chrono::milliseconds(50));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(out == std::vector<int>(in.size(), 3), "wrong sum");
        exchange.wait();
    }
    MPI_Op_free(&operation);
    // A rank of two may need no operator.
    check(elsewhere == 0, "the operator ran in another thread");
}

// A list of Lapwing's is in flight beside a reduction that the MPI runs.
void reduction_beside_list() {
    MPI_Comm of_mpi = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Op operation = MPI_OP_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "lapwing_engine", "mpi");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &of_mpi);
    MPI_Info_free(&info);
    MPI_Op_create(sum, 1, &operation);
    int data = 0;
    std::vector<int> in(1'000, rank() + 1);
    std::vector<int> out(in.size(), 0);
    MPI_Request requests[2];
    if (rank() == 0) MPI_Ibcast(&data, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, operation, of_mpi,
                   &requests[1]);
    compute(std::chrono::milliseconds(300));
    if (rank() == 1) MPI_Ibcast(&data, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(out == std::vector<int>(in.size(), 3), "wrong sum");
    check(elsewhere == 0, "the operator ran in another thread");
    MPI_Op_free(&operation);
    MPI_Comm_free(&of_mpi);
}

// The list reduces by the operator, and may have all messages while the program computes. The first
// collective of a communicator waits for the ranks' agreement.
void reduction_in_list() {
    MPI_Op operation = MPI_OP_NULL;
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Op_create(sum, 1, &operation);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    for (const MPI_Comm communicator : {MPI_COMM_WORLD, duplicate}) {
        std::vector<int> in(1'000, rank() + 1);
        std::vector<int> out(in.size(), 0);
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank() == 1) compute(std::chrono::milliseconds(100));
        MPI_Iallreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, operation, communicator,
                       &request);
        compute(std::chrono::milliseconds(300));
        check(elsewhere == 0, "the operator ran in another thread");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(out == std::vector<int>(in.size(), 3), "wrong sum");
    }
    MPI_Comm_free(&duplicate);
    MPI_Op_free(&operation);
}

void handle_error(MPI_Comm*, int*, ...) {
    note_thread();
}
int query(void*, MPI_Status* status) {
    note_thread();
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
int free_request(void*) {
    note_thread();
    return MPI_SUCCESS;
}
int cancel_request(void*, int) {
    return MPI_SUCCESS;
}
int copy_attribute(MPI_Comm, int, void*, void*, void*, int* flag) {
    note_thread();
    *flag = 1;
    return MPI_SUCCESS;
}
int delete_attribute(MPI_Comm, int, void*, void*) {
    note_thread();
    return MPI_SUCCESS;
}
void callbacks_of_program() {
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    MPI_Comm_create_errhandler(handle_error, &handler);
    // An MPI may also call the handler of another communicator for an error in MPI_Wait.
    for (MPI_Comm one : {communicator, MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(one, handler);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, nullptr);
    MPI_Comm_set_attr(communicator, key, nullptr);
    MPI_Request general = MPI_REQUEST_NULL;
    MPI_Grequest_start(query, free_request, cancel_request, nullptr, &general);
    Exchange exchange;
    exchange.start('a');
    // The receive is shorter than the message.
    char out[1'000] = {};
    char in[500] = {};
    MPI_Request requests[2];
    MPI_Irecv(in, sizeof in, MPI_BYTE, other(), 2, communicator, &requests[0]);
    MPI_Isend(out, sizeof out, MPI_BYTE, other(), 2, communicator, &requests[1]);
    exchange.watch();
    compute(std::chrono::milliseconds(50));
    check(on_main_thread == 0, "a callback came too early");
    const int error = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check(error != MPI_SUCCESS && on_main_thread == 1, "the error handler was not called once");
    for (MPI_Comm one : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(one, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Grequest_complete(general);
    MPI_Wait(&general, MPI_STATUS_IGNORE);
    check(on_main_thread == 3, "the functions of a generalized request");
    MPI_Comm_dup(communicator, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&communicator);
    check(on_main_thread == 6, "the functions of an attribute");
    exchange.wait();
    MPI_Comm_free_keyval(&key);
    MPI_Errhandler_free(&handler);
    check(elsewhere == 0, "a callback ran in another thread");
}

#ifdef HAS_UCX
#define OF_UCX(function) reinterpret_cast<decltype(&function)>(::dlsym(RTLD_DEFAULT, #function))

// A library of the program has a worker of UCX, and progresses it outside of the MPI: no list may advance
// there.
void own_worker() {
    ucp_config_t* config = nullptr;
    check(OF_UCX(ucp_config_read)(nullptr, nullptr, &config) == UCS_OK, "no settings of UCX");
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_TAG;
    ucp_context_h context = nullptr;
    check(OF_UCX(ucp_init_version)(UCP_API_MAJOR, UCP_API_MINOR, &parameters, config, &context) == UCS_OK,
          "no context of UCX");
    const ucp_worker_params_t of_worker{};
    ucp_worker_h worker = nullptr;
    check(OF_UCX(ucp_worker_create)(context, &of_worker, &worker) == UCS_OK, "no worker of UCX");
    MPI_Op add = MPI_OP_NULL;
    MPI_Op_create(sum, 1, &add);
    int mine = rank() + 1;
    int all = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &all, 1, MPI_INT, add, MPI_COMM_WORLD, &request);
    const int before = on_main_thread;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (rank() == 0 && std::chrono::steady_clock::now() < end) OF_UCX(ucp_worker_progress)(worker);
    check(on_main_thread == before, "a list advanced in the progress of the program's own worker");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(all == 3, "a wrong sum");
    MPI_Op_free(&add);
    OF_UCX(ucp_worker_destroy)(worker);
    OF_UCX(ucp_cleanup)(context);
}
#endif

}  // namespace

Parts callbacks() {
    return {
#ifdef HAS_UCX
        {"own_worker", own_worker},
#endif
        {"reduction", reduction},
        {"reduction_beside_list", reduction_beside_list},
        {"reduction_in_list", reduction_in_list},
        {"callbacks", callbacks_of_program}};
}

}  // namespace computing
