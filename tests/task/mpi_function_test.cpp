#include "task/mpi_function.hpp"

namespace lapwing {
namespace {

using FunctionKind = MpiFunction::Kind;
using Form = MpiFunction::Form;

TEST(MpiFunction, NamesSayWhatAFunctionDoes) {
    const auto is = [](const char* name, FunctionKind kind, Form form) {
        const MpiFunction function = MpiFunction::of(name);
        return function.kind == kind && function.form == form;
    };
    EXPECT_TRUE(is("MPI_Ialltoallw_c", FunctionKind::collective, Form::nonblocking));
    EXPECT_EQ(MpiFunction::of("MPI_Ialltoallw_c").collective, Collective::alltoallv);
    EXPECT_TRUE(is("MPIX_Bcast_init", FunctionKind::collective, Form::persistent));
    EXPECT_EQ(MpiFunction::of("MPI_Neighbor_alltoallv").collective, Collective::neighbor_alltoall);
    EXPECT_EQ(MpiFunction::of("MPI_Reduce_scatter_block").collective, Collective::reduce_scatter_block);
    EXPECT_TRUE(is("MPI_Isend", FunctionKind::send, Form::nonblocking));
    EXPECT_TRUE(MpiFunction::of("MPI_Issend").synchronous);
    EXPECT_TRUE(is("MPI_Recv_init_c", FunctionKind::receive, Form::persistent));
    EXPECT_TRUE(is("MPI_Imrecv", FunctionKind::receive, Form::nonblocking));
    EXPECT_TRUE(is("MPI_Sendrecv_replace", FunctionKind::exchange, Form::blocking));
    EXPECT_TRUE(is("MPI_Iprobe", FunctionKind::probe, Form::blocking));
    EXPECT_TRUE(MpiFunction::of("MPI_Improbe").polls);
    EXPECT_TRUE(is("MPI_Startall", FunctionKind::start, Form::blocking));
    EXPECT_EQ(MpiFunction::of("MPI_Waitsome").waits, MpiFunction::Waits::some);
    EXPECT_FALSE(MpiFunction::of("MPI_Waitsome").polls);
    EXPECT_TRUE(MpiFunction::of("MPI_Testall").polls);
    EXPECT_TRUE(is("MPI_Comm_split", FunctionKind::communicator, Form::blocking));
    EXPECT_TRUE(is("MPI_Comm_free", FunctionKind::other, Form::blocking));
    EXPECT_TRUE(is("MPI_Win_fence", FunctionKind::other, Form::blocking));
    EXPECT_TRUE(is("", FunctionKind::other, Form::blocking));
}

TEST(MpiFunction, NamesAgreeWithTheTableOfWrappedCalls) {
    const auto expect = [](const char* name, std::string_view message) {
        const MpiFunction function = MpiFunction::of(name);
        EXPECT_EQ(function.sends(), message.starts_with("sends") || message.starts_with("exchanges")) << name;
        EXPECT_EQ(function.receives(), message != "no_message" && !message.starts_with("sends")) << name;
        return function;
    };
#define LAPWING_WITH_COUNTS(functions) functions(, int) functions(_c, long)
#define LAPWING_CALL(function, parameters, names, communicator, peer, tag, message) \
    EXPECT_EQ(expect(#function, #message).form, Form::blocking);
#define LAPWING_STARTS(function, parameters, names, message) \
    EXPECT_NE(expect(#function, #message).form, Form::blocking);
#define LAPWING_POLLS(function, parameters, names, communicator, message) \
    EXPECT_TRUE(expect(#function, #message).polls);
#define LAPWING_MAKES(function, parent, parameters, names, made) \
    EXPECT_TRUE(is_synchronizing(#function, FunctionKind::communicator));
#define LAPWING_OPENS(function, parent, parameters, names, made) \
    EXPECT_TRUE(is_synchronizing(#function, FunctionKind::other));
    const auto is_synchronizing = [](const char* name, FunctionKind kind) {
        const MpiFunction function = MpiFunction::of(name);
        return function.synchronizes && function.kind == kind;
    };
#define MPI_VERSION 4
#include "mpi/calls/native_calls.def"
#include "support/unit.hpp"
}

TEST(MpiFunction, SynchronizingFunctions) {
    for (const char* name : {"MPI_Finalize", "MPI_Win_fence", "MPI_Win_free", "MPI_File_close",
                             "MPI_File_write_at_all_c", "MPI_Comm_free"})
        EXPECT_TRUE(MpiFunction::of(name).synchronizes) << name;
    for (const char* name : {"MPI_Win_lock", "MPI_Recv", "MPI_Bcast", "MPI_Comm_idup", "MPI_Wait"})
        EXPECT_FALSE(MpiFunction::of(name).synchronizes) << name;
}

}  // namespace
}  // namespace lapwing
