// The main function of tests that run as MPI programs: every rank runs every test, rank 0 speaks, and one
// failure anywhere fails all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstring>

namespace {

// Failures of the other ranks are printed with their rank; successes only by rank 0.
class RankPrinter : public testing::EmptyTestEventListener {
  public:
    explicit RankPrinter(int rank) : rank_(rank) {}
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_,
                     result.file_name() == nullptr ? "" : result.file_name(), result.line_number(),
                     result.message());
    }

  private:
    int rank_;
};

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    int wanted = MPI_THREAD_SINGLE;
    for (int i = 1; i < argc; ++i)
        if (std::strcmp(argv[i], "--threads") == 0) wanted = MPI_THREAD_MULTIPLE;
    int provided = 0;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new RankPrinter(rank));
    }
    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
