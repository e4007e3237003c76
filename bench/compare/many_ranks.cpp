// What a library adds to each of many ranks: MPI_Init and MPI_Finalize, memory, descriptors, communicators.
// Rank 0 prints the largest value of all ranks; of MPI_Finalize its own.
//
//   many-ranks COMMUNICATORS
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// A line "VmHWM:   123 kB" of such a file; 0 when there is none.
long kibibytes(const char* path, const std::string& key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) return std::stol(line.substr(key.size()));
    return 0;
}

long private_dirty() {
    return kibibytes("/proc/self/smaps_rollup", "Private_Dirty:");
}

// Without that of the directory itself.
long open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}) - 1;
}

void barrier(MPI_Comm communicator) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(communicator, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void make_and_free(int communicators) {
    for (int i = 0; i < communicators; ++i) {
        MPI_Comm communicator = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
        barrier(communicator);
        MPI_Comm_free(&communicator);
    }
}

}  // namespace

int main(int count, char** words) {
    const int communicators = count > 1 ? std::atoi(words[1]) : 1000;
    const double before = seconds();
    MPI_Init(&count, &words);
    const double init = seconds() - before;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto say = [rank](const char* what, double value) {
        double largest = 0;
        PMPI_Reduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) std::printf("  %-40s %.6g\n", what, largest);
    };
    std::vector<double> first;
    std::vector<double> second;
    for (int i = 0; i < 11; ++i) {
        MPI_Comm communicator = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
        for (std::vector<double>* times : {&first, &second}) {
            // The ranks are together without a collective that is measured.
            MPI_Barrier(MPI_COMM_WORLD);
            const double begin = seconds();
            barrier(communicator);
            times->push_back(seconds() - begin);
        }
        MPI_Comm_free(&communicator);
    }
    const long descriptors = open_descriptors();
    const long peak = kibibytes("/proc/self/status", "VmHWM:");
    const long dirty = private_dirty();

    // What has room for all that is needed at once does not grow any more.
    make_and_free(communicators / 10 + 1);
    const long at_first = private_dirty();
    const double began = seconds();
    make_and_free(communicators);
    const double of_communicator = (seconds() - began) / communicators;
    const long growth = (private_dirty() - at_first) * 1024;

    say("MPI_Init, s", init);
    say("first barrier of a communicator, ms", 1e3 * median(first));
    say("second, ms", 1e3 * median(second));
    say("descriptors", static_cast<double>(descriptors));
    say("peak memory, MiB", static_cast<double>(peak) / 1024);
    say("private dirty memory, MiB", static_cast<double>(dirty) / 1024);
    say("a communicator, made and freed, ms", 1e3 * of_communicator);
    say("it leaves, bytes", static_cast<double>(growth) / communicators);
    const double end = seconds();
    MPI_Finalize();
    if (rank == 0) std::printf("  %-40s %.6g\n", "MPI_Finalize of rank 0, s", seconds() - end);
    return 0;
}
