#include "task/mpi_function.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace lapwing {
namespace {

using Kind = MpiFunction::Kind;
using Form = MpiFunction::Form;

TEST(MpiFunction, NamesSayWhatAFunctionDoes) {
    const auto is = [](const char* name, Kind kind, Form form) {
        const MpiFunction function = MpiFunction::of(name);
        return function.kind == kind && function.form == form;
    };
    EXPECT_TRUE(is("MPI_Ialltoallw_c", Kind::collective, Form::nonblocking));
    EXPECT_EQ(MpiFunction::of("MPI_Ialltoallw_c").collective, Collective::alltoallv);
    EXPECT_TRUE(is("MPIX_Bcast_init", Kind::collective, Form::persistent));
    EXPECT_EQ(MpiFunction::of("MPI_Neighbor_alltoallv").collective, Collective::neighbor_alltoall);
    EXPECT_EQ(MpiFunction::of("MPI_Reduce_scatter_block").collective, Collective::reduce_scatter_block);
    EXPECT_TRUE(is("MPI_Isend", Kind::send, Form::nonblocking));
    EXPECT_TRUE(MpiFunction::of("MPI_Issend").synchronous);
    EXPECT_TRUE(is("MPI_Recv_init_c", Kind::receive, Form::persistent));
    EXPECT_TRUE(is("MPI_Imrecv", Kind::receive, Form::nonblocking));
    EXPECT_TRUE(is("MPI_Sendrecv_replace", Kind::exchange, Form::blocking));
    EXPECT_TRUE(is("MPI_Iprobe", Kind::probe, Form::blocking));
    EXPECT_TRUE(MpiFunction::of("MPI_Improbe").polls);
    EXPECT_TRUE(is("MPI_Startall", Kind::start, Form::blocking));
    EXPECT_EQ(MpiFunction::of("MPI_Waitsome").waits, MpiFunction::Waits::some);
    EXPECT_FALSE(MpiFunction::of("MPI_Waitsome").polls);
    EXPECT_TRUE(MpiFunction::of("MPI_Testall").polls);
    EXPECT_TRUE(is("MPI_Comm_split", Kind::communicator, Form::blocking));
    EXPECT_TRUE(is("MPI_Comm_free", Kind::other, Form::blocking));
    EXPECT_TRUE(is("MPI_Win_fence", Kind::other, Form::blocking));
    EXPECT_TRUE(is("", Kind::other, Form::blocking));
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
#define LAPWING_STARTS(function, parameters, names, communicator, message) \
    EXPECT_NE(expect(#function, #message).form, Form::blocking);
#define LAPWING_POLLS(function, parameters, names, communicator, message) \
    EXPECT_TRUE(expect(#function, #message).polls);
#define LAPWING_MAKES(function, parent, parameters, names, made) \
    EXPECT_TRUE(is_synchronizing(#function, Kind::communicator));
#define LAPWING_OPENS(function, parent, parameters, names, made) \
    EXPECT_TRUE(is_synchronizing(#function, Kind::other));
    const auto is_synchronizing = [](const char* name, Kind kind) {
        const MpiFunction function = MpiFunction::of(name);
        return function.synchronizes && function.kind == kind;
    };
#define MPI_VERSION 4
#include "mpi/calls/native_calls.def"
}

TEST(MpiFunction, SynchronizingFunctions) {
    for (const char* name : {"MPI_Finalize", "MPI_Win_fence", "MPI_Win_free", "MPI_File_close",
                             "MPI_File_write_at_all_c", "MPI_Comm_free"}) {
        EXPECT_TRUE(MpiFunction::of(name).synchronizes) << name;
    }
    for (const char* name : {"MPI_Win_lock", "MPI_Recv", "MPI_Bcast", "MPI_Comm_idup", "MPI_Wait"})
        EXPECT_FALSE(MpiFunction::of(name).synchronizes) << name;
}

}  // namespace
}  // namespace lapwing
