// The functions that start a collective: each writes its arguments as a problem.
#include <lapwing.h>

#include "c/call.hpp"
#include "c/group.hpp"
#include "c/status.hpp"

namespace lapwing::c {
namespace {

lapwing_status start(lapwing_group* handle, const lapwing_problem& given, const void* in, void* out,
                     lapwing_operation** operation) {
    if (operation != nullptr) *operation = nullptr;
    return guarded([&] {
        if (operation == nullptr) throw_invalid("operation is null");
        Group& group = group_of(handle);
        lapwing_problem problem = given;
        problem.in_place = in == LAPWING_IN_PLACE || out == LAPWING_IN_PLACE;
        const Call call = call_of(group, problem);
        *operation = group.start(call.problem, buffers_of(group, call.problem, in, out), call.function);
    });
}

lapwing_problem of_bytes(lapwing_collective collective, std::uint64_t bytes, int root = 0) {
    lapwing_problem problem = lapwing_problem_of(collective);
    problem.bytes = bytes;
    problem.root = root;
    return problem;
}

lapwing_status start_reduction(lapwing_group* group, lapwing_problem problem,
                               const lapwing_reduction* reduction, const void* in, void* out,
                               lapwing_operation** operation) {
    if (reduction == nullptr) {
        if (operation != nullptr) *operation = nullptr;
        return failed(LAPWING_INVALID_ARGUMENT, "reduction is null");
    }
    problem.reduction = *reduction;
    return start(group, problem, in, out, operation);
}

lapwing_problem of_count(lapwing_collective collective, std::uint64_t count, int root = 0) {
    lapwing_problem problem = lapwing_problem_of(collective);
    problem.count = count;
    problem.root = root;
    return problem;
}

}  // namespace
}  // namespace lapwing::c

using namespace lapwing::c;

lapwing_status lapwing_barrier(lapwing_group* group, lapwing_operation** operation) {
    return start(group, lapwing_problem_of(LAPWING_BARRIER), nullptr, nullptr, operation);
}

lapwing_status lapwing_broadcast(lapwing_group* group, void* buffer, uint64_t bytes, int root,
                                 lapwing_operation** operation) {
    return start(group, of_bytes(LAPWING_BROADCAST, bytes, root), buffer, buffer, operation);
}

lapwing_status lapwing_gather(lapwing_group* group, const void* in, uint64_t bytes, void* out, int root,
                              lapwing_operation** operation) {
    return start(group, of_bytes(LAPWING_GATHER, bytes, root), in, out, operation);
}

lapwing_status lapwing_gatherv(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                               const lapwing_part* parts, int root, lapwing_operation** operation) {
    lapwing_problem problem = of_bytes(LAPWING_GATHERV, bytes, root);
    problem.receives = parts;
    return start(group, problem, in, out, operation);
}

lapwing_status lapwing_scatter(lapwing_group* group, const void* in, void* out, uint64_t bytes, int root,
                               lapwing_operation** operation) {
    return start(group, of_bytes(LAPWING_SCATTER, bytes, root), in, out, operation);
}

lapwing_status lapwing_scatterv(lapwing_group* group, const void* in, const lapwing_part* parts, void* out,
                                uint64_t bytes, int root, lapwing_operation** operation) {
    lapwing_problem problem = of_bytes(LAPWING_SCATTERV, bytes, root);
    problem.sends = parts;
    return start(group, problem, in, out, operation);
}

lapwing_status lapwing_allgather(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                                 lapwing_operation** operation) {
    return start(group, of_bytes(LAPWING_ALLGATHER, bytes), in, out, operation);
}

lapwing_status lapwing_allgatherv(lapwing_group* group, const void* in, uint64_t bytes, void* out,
                                  const lapwing_part* parts, lapwing_operation** operation) {
    lapwing_problem problem = of_bytes(LAPWING_ALLGATHERV, bytes);
    problem.receives = parts;
    return start(group, problem, in, out, operation);
}

lapwing_status lapwing_alltoall(lapwing_group* group, const void* in, void* out, uint64_t bytes,
                                lapwing_operation** operation) {
    return start(group, of_bytes(LAPWING_ALLTOALL, bytes), in, out, operation);
}

lapwing_status lapwing_alltoallv(lapwing_group* group, const void* in, const lapwing_part* sends, void* out,
                                 const lapwing_part* receives, lapwing_operation** operation) {
    lapwing_problem problem = lapwing_problem_of(LAPWING_ALLTOALLV);
    problem.sends = sends;
    problem.receives = receives;
    return start(group, problem, in, out, operation);
}

lapwing_status lapwing_reduce(lapwing_group* group, const void* in, void* out, uint64_t count,
                              const lapwing_reduction* reduction, int root, lapwing_operation** operation) {
    return start_reduction(group, of_count(LAPWING_REDUCE, count, root), reduction, in, out, operation);
}

lapwing_status lapwing_allreduce(lapwing_group* group, const void* in, void* out, uint64_t count,
                                 const lapwing_reduction* reduction, lapwing_operation** operation) {
    return start_reduction(group, of_count(LAPWING_ALLREDUCE, count), reduction, in, out, operation);
}

lapwing_status lapwing_reduce_scatter_block(lapwing_group* group, const void* in, void* out, uint64_t count,
                                            const lapwing_reduction* reduction,
                                            lapwing_operation** operation) {
    return start_reduction(group, of_count(LAPWING_REDUCE_SCATTER_BLOCK, count), reduction, in, out,
                           operation);
}

lapwing_status lapwing_reduce_scatter(lapwing_group* group, const void* in, void* out, const uint64_t* counts,
                                      const lapwing_reduction* reduction, lapwing_operation** operation) {
    lapwing_problem problem = lapwing_problem_of(LAPWING_REDUCE_SCATTER);
    problem.counts = counts;
    return start_reduction(group, problem, reduction, in, out, operation);
}

lapwing_status lapwing_scan(lapwing_group* group, const void* in, void* out, uint64_t count,
                            const lapwing_reduction* reduction, lapwing_operation** operation) {
    return start_reduction(group, of_count(LAPWING_SCAN, count), reduction, in, out, operation);
}

lapwing_status lapwing_exscan(lapwing_group* group, const void* in, void* out, uint64_t count,
                              const lapwing_reduction* reduction, lapwing_operation** operation) {
    return start_reduction(group, of_count(LAPWING_EXSCAN, count), reduction, in, out, operation);
}

lapwing_status lapwing_neighbor_allgather(lapwing_group* group, const lapwing_neighbors* neighbors,
                                          const void* in, uint64_t bytes, void* out,
                                          const lapwing_part* receives, lapwing_operation** operation) {
    lapwing_problem problem = of_bytes(LAPWING_NEIGHBOR_ALLGATHER, bytes);
    if (neighbors != nullptr) problem.neighbors = *neighbors;
    problem.receives = receives;
    return start(group, problem, in, out, operation);
}

lapwing_status lapwing_neighbor_alltoall(lapwing_group* group, const lapwing_neighbors* neighbors,
                                         const void* in, const lapwing_part* sends, void* out,
                                         const lapwing_part* receives, lapwing_operation** operation) {
    lapwing_problem problem = lapwing_problem_of(LAPWING_NEIGHBOR_ALLTOALL);
    if (neighbors != nullptr) problem.neighbors = *neighbors;
    problem.sends = sends;
    problem.receives = receives;
    return start(group, problem, in, out, operation);
}
