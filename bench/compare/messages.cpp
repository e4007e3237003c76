// Point-to-point messages beside computation, in a program without code for Lapwing.
// Prints the milliseconds of an exchange and the computation beside it, or of the exchange alone.
//
//   --pattern ring|halo|pingpong|rate|accumulate
//       ring: to the right; halo: to both neighbours; pingpong: two ranks; rate: windows of 64 messages, as
//       in osu_mbw_mr; accumulate: MPI_Accumulate and MPI_Win_flush at rank 1, which computes for 50 ms
//   --form nonblocking|persistent|types|fortran|blocking
//       types: strided vectors; fortran: the functions that a Fortran program calls; blocking: pingpong only
//   --compute work|dgemm|triad|sleep|none             none: the ranks wait at once
//   --bytes N, 64Ki, 1Mi   --rounds N   --seconds S (at least three rounds are measured)
//   --end finalize|abort      abort: with status 0 by MPI_Abort
//
// All runs of a directory do the same computation: the first one, for which it takes 1.2 times the exchange,
// leaves the amount in the file `alone`, with the seconds of exchange and computation by themselves. In
// turns, the program measures these two, and both together; times are medians of the slowest rank's.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "program/compute.hpp"

namespace {

constexpr int window = 64;
int max_rounds = 101;
double max_seconds = 8;
MPI_Comm world;
int rank, ranks;

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "messages: rank %d: %s\n", rank, why.c_str());
    MPI_Abort(world, 1);
    std::abort();
}

long number_of(const std::string& text) {
    std::size_t end = 0;
    const long number = std::stol(text, &end);
    const std::string unit = text.substr(end);
    return unit == "Ki" ? number << 10 : unit == "Mi" ? number << 20 : number;
}

double slowest(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, world);
    return all;
}

void add_part() {
    constexpr std::size_t elements = 1U << 23U;  // of each array: 192 MiB in all
    constexpr std::size_t part = 4096;
    static std::vector<double> sum(elements), one(elements, 1), other(elements, 2);
    static std::size_t begin = 0;
    for (std::size_t i = begin; i < begin + part; ++i) sum[i] = one[i] + 3 * other[i];
    begin = (begin + part) % elements;
}

// The units of `amount` are operations, products, parts of a triad, or microseconds of sleep.
void compute(const std::string& kind, long amount) {
    constexpr int order = 64;
    if (kind == "work")
        lapwing::bench::work(static_cast<std::uint64_t>(amount));
    else if (kind == "sleep")
        std::this_thread::sleep_for(std::chrono::microseconds(amount));
    else if (kind == "dgemm")
        for (long i = 0; i < amount; ++i) lapwing::bench::multiply(order);
    else if (kind != "none")
        for (long i = 0; i < amount; ++i) add_part();
}

double time_of_computation(const std::string& kind, long amount) {
    MPI_Barrier(world);
    const double from = MPI_Wtime();
    compute(kind, amount);
    return slowest(MPI_Wtime() - from);
}

// The amount that takes the slowest rank `seconds` while all ranks compute.
long amount_for(const std::string& kind, double seconds) {
    if (kind == "sleep") return std::lround(seconds * 1e6);
    long amount = 16;
    while (time_of_computation(kind, amount) < 0.02) amount *= 2;
    const double least = std::min(time_of_computation(kind, amount), time_of_computation(kind, amount));
    return std::max(1L, std::lround(seconds / least * double(amount)));
}

struct Row {
    std::string pattern, form, compute, bytes;
};

struct Message {
    bool is_sent;
    int peer;
    int tag;
    std::vector<unsigned char> buffer = {};
};

int send(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request*) {
    return MPI_Send(data, count, type, peer, tag, comm);
}
int receive(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request*) {
    return MPI_Recv(data, count, type, peer, tag, comm, MPI_STATUS_IGNORE);
}

// Debian's MPI's functions for Fortran, with the linkage of mpif.h. Not linked to, because this program also
// runs on MPIs without them.
struct Fortran {
    using Start = void(const void*, const int* count, const int* type, const int* peer, const int* tag,
                       const int* comm, int* request, int* error);
    using Waitall = void(const int* count, int* requests, int* statuses, int* error);
    static constexpr std::size_t max_status_size = 16;  // MPI_STATUS_SIZE of every MPI is at most this
#ifdef OPEN_MPI
    static constexpr const char* library = "libmpi_mpifh.so.40";
#else
    static constexpr const char* library = "libmpichfort.so.12";
#endif

    // A library that was loaded before the MPI comes first in a search by name.
    void* const opened = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    Start* isend = find<Start>("mpi_isend_");
    Start* irecv = find<Start>("mpi_irecv_");
    Waitall* waitall = find<Waitall>("mpi_waitall_");

    template <class Function>
    static Function* find(const char* name) {
        void* const found = ::dlsym(RTLD_DEFAULT, name);
        if (found == nullptr) fail("the MPI has no library for Fortran");
        return reinterpret_cast<Function*>(found);
    }
};
const Fortran& fortran() {
    static const Fortran functions;
    return functions;
}
// Inline, as is what waits: each phase calls the MPI at places of its own.
struct StartByFortran {
    Fortran::Start* function;

    template <class Data>
    [[gnu::always_inline]] void operator()(Data* data, int count, MPI_Datatype type, int peer, int tag,
                                           MPI_Comm comm, MPI_Request* request) const {
        const int of = MPI_Type_c2f(type);
        const int in = MPI_Comm_c2f(comm);
        int made = 0;
        int error = MPI_SUCCESS;
        function(data, &count, &of, &peer, &tag, &in, &made, &error);
        *request = MPI_Request_f2c(made);
    }
};
[[gnu::always_inline]] inline void wait_by_fortran(std::vector<MPI_Request>& requests) {
    std::vector<int> handles;
    for (MPI_Request request : requests) handles.push_back(MPI_Request_c2f(request));
    std::vector<int> statuses(requests.size() * Fortran::max_status_size);
    const int count = int(requests.size());
    int error = MPI_SUCCESS;
    fortran().waitall(&count, handles.data(), statuses.data(), &error);
    std::fill(requests.begin(), requests.end(), MPI_REQUEST_NULL);
}

// One or two stages; the messages of a stage are in flight together.
class Exchange {
    using Stage = std::vector<Message>;

  public:
    Exchange(const Row& row, long bytes) : form_(row.form), bytes_(bytes), block_(std::min(bytes, 256L)) {
        if (row.pattern == "halo" || row.pattern == "ring") {
            const int left = (rank + ranks - 1) % ranks;
            const int right = (rank + 1) % ranks;
            stages_ = {{{false, left, 0}, {true, right, 0}}};
            if (row.pattern == "halo")
                stages_[0].insert(stages_[0].end(), {{false, right, 1}, {true, left, 1}});
        } else {
            const bool is_first = rank < ranks / 2;
            const int partner = is_first ? rank + ranks / 2 : rank - ranks / 2;
            stages_.resize(1);
            for (int i = 0; i < (row.pattern == "rate" ? window : 1); ++i)
                stages_[0].push_back({is_first, partner, i});
            stages_.push_back({{!is_first, partner, window}});
        }
        if (form_ == "types") {
            MPI_Type_vector(int(bytes_ / block_), int(block_), int(2 * block_), MPI_BYTE, &type_);
            MPI_Type_commit(&type_);
        }
        for (Stage& stage : stages_) {
            for (Message& one : stage) one.buffer.resize(std::size_t(2 * bytes_));
            requests_.emplace_back(stage.size(), MPI_REQUEST_NULL);
        }
        for (std::size_t i = 0; form_ == "persistent" && i < stages_.size(); ++i)
            post(i, MPI_Send_init, MPI_Recv_init);
    }
    ~Exchange() {
        for (std::size_t i = 0; form_ == "persistent" && i < requests_.size(); ++i)
            for (MPI_Request& request : requests_[i]) MPI_Request_free(&request);
        if (form_ == "types") MPI_Type_free(&type_);
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    // Average seconds of exchanges that are waited for at once. As in a program, this phase has other call
    // sites of the MPI than with_computation().
    [[gnu::noinline]] double alone(int times) {
        const double from = begin();
        for (int i = 0; i < times; ++i) exchange();
        return end((MPI_Wtime() - from) / times);
    }
    [[gnu::noinline]] double with_computation(const std::string& kind, long amount) {
        const double from = begin();
        start(0);
        compute(kind, amount);
        wait(0);
        return end(MPI_Wtime() - from);
    }

  private:
    template <class Send, class Receive>
    [[gnu::always_inline]] void post(std::size_t stage, Send send, Receive receive) {
        const int count = form_ == "types" ? 1 : int(bytes_);
        for (std::size_t i = 0; i < stages_[stage].size(); ++i) {
            Message& one = stages_[stage][i];
            MPI_Request* const request = &requests_[stage][i];
            if (one.is_sent)
                send(one.buffer.data(), count, type_, one.peer, one.tag, world, request);
            else
                receive(one.buffer.data(), count, type_, one.peer, one.tag, world, request);
        }
    }
    [[gnu::always_inline]] void start(std::size_t stage) {
        if (form_ == "persistent")
            MPI_Startall(int(requests_[stage].size()), requests_[stage].data());
        else if (form_ == "blocking")
            post(stage, send, receive);
        else if (form_ == "fortran")
            post(stage, StartByFortran{fortran().isend}, StartByFortran{fortran().irecv});
        else
            post(stage, MPI_Isend, MPI_Irecv);
    }
    [[gnu::always_inline]] void wait(std::size_t stage) {
        if (form_ == "blocking") return;
        if (form_ == "fortran") return wait_by_fortran(requests_[stage]);
        MPI_Waitall(int(requests_[stage].size()), requests_[stage].data(), MPI_STATUSES_IGNORE);
    }
    [[gnu::always_inline]] void exchange() {
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
            start(stage);
            wait(stage);
        }
    }

    // Calls visit(byte, value that the sender gives it in this round) for all bytes that are sent or
    // received.
    template <class Visit>
    void each_byte(bool is_sent, Visit visit) {
        for (Stage& stage : stages_) {
            for (Message& one : stage) {
                if (one.is_sent != is_sent) continue;
                const long seed = 29L * (is_sent ? rank : one.peer) + 101L * one.tag + 7L * round_;
                for (long i = 0; i < bytes_; ++i) {
                    const long place = form_ == "types" ? i + i / block_ * block_ : i;
                    visit(one.buffer[std::size_t(place)], static_cast<unsigned char>(seed + i % 251));
                }
            }
        }
    }
    double begin() {
        ++round_;
        each_byte(true, [](unsigned char& byte, unsigned char value) { byte = value; });
        MPI_Barrier(world);
        exchange();  // not timed: after a pause, an emulated link passes a burst at once
        each_byte(false, [](unsigned char& byte, unsigned char) { byte = 0; });
        MPI_Barrier(world);
        return MPI_Wtime();
    }
    double end(double mine) {
        each_byte(false, [](unsigned char byte, unsigned char value) {
            if (byte != value) fail("a wrong byte was received");
        });
        return slowest(mine);
    }

    std::string form_;
    long bytes_;
    long block_;  // of a vector
    MPI_Datatype type_ = MPI_BYTE;
    std::vector<Stage> stages_;
    std::vector<std::vector<MPI_Request>> requests_;  // of each stage
    long round_ = 0;
};

using Samples = std::map<std::string, std::vector<double>>;  // by the name of a quantity

bool another_round(const std::vector<double>& done, double from) {
    int more = done.size() < 3 || (int(done.size()) < max_rounds && MPI_Wtime() - from < max_seconds);
    MPI_Bcast(&more, 1, MPI_INT, 0, world);
    return more != 0;
}

Samples measure_messages(const Row& row, long& amount) {
    if (row.form == "blocking" && row.pattern != "pingpong") fail("only pingpong has a blocking form");
    Exchange exchange(row, number_of(row.bytes));
    Samples samples;
    std::vector<double> first;
    for (int i = 0; i < 5; ++i) first.push_back(exchange.alone(1));
    std::sort(first.begin(), first.end());
    const double from = MPI_Wtime();
    if (row.compute == "none") {
        const int times = std::max(1, int(0.01 / first[2]));
        const int messages = row.pattern == "rate" ? window : row.pattern == "pingpong" ? 2 : 1;
        while (another_round(samples["seconds"], from))
            samples["seconds"].push_back(exchange.alone(times) / messages);
        return samples;
    }
    compute(row.compute, 1);  // allocates
    if (amount == 0) amount = amount_for(row.compute, 1.2 * first[2]);
    while (another_round(samples["seconds"], from)) {
        samples["exchange"].push_back(exchange.alone(1));
        samples["computation"].push_back(time_of_computation(row.compute, amount));
        samples["seconds"].push_back(exchange.with_computation(row.compute, amount));
    }
    return samples;
}

// Seconds of one MPI_Accumulate and MPI_Win_flush of rank 0, which begin 1 ms after rank 1's computation.
Samples measure_accumulate(const Row& row, long& amount) {
    if (amount == 0 && row.compute != "none") amount = amount_for(row.compute, 0.05);
    alignas(16) double sum = 0;  // MPICH 4.0.2 rounds the address of a window down to 16 bytes
    const double one = 1;
    MPI_Win target = MPI_WIN_NULL;
    MPI_Win_create(&sum, sizeof sum, sizeof sum, MPI_INFO_NULL, world, &target);
    MPI_Win_lock_all(0, target);
    Samples samples;
    const double from = MPI_Wtime();
    while (another_round(samples["seconds"], from)) {
        MPI_Barrier(world);
        if (rank == 0) compute("sleep", 1000);
        const double begin = MPI_Wtime();
        if (rank == 0) {
            MPI_Accumulate(&one, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, target);
            MPI_Win_flush(1, target);
        } else if (rank == 1) {
            compute(row.compute, amount);
        }
        const double mine = MPI_Wtime() - begin;
        samples["seconds"].push_back(slowest(rank == 0 ? mine : 0));
        samples["computation"].push_back(slowest(rank == 1 ? mine : 0));
    }
    MPI_Win_unlock_all(target);
    MPI_Win_free(&target);
    if (rank == 1 && sum != double(samples["seconds"].size())) fail("a wrong sum was accumulated");
    return samples;
}

double median(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

// The amount of computation of the first run in this directory; 0: this is it.
long amount_of_first_run() {
    long amount = 0;
    if (rank == 0) std::ifstream("alone") >> amount;
    MPI_Bcast(&amount, 1, MPI_LONG, 0, world);
    return amount;
}

void measure(const Row& row) {
    const long of_first = amount_of_first_run();
    long amount = of_first;
    Samples samples =
        row.pattern == "accumulate" ? measure_accumulate(row, amount) : measure_messages(row, amount);
    if (rank != 0) return;
    if (of_first == 0)
        std::ofstream("alone") << amount << ' ' << median(samples["exchange"]) << ' '
                               << median(samples["computation"]) << '\n';
    std::printf("%.6f ms\n", 1e3 * median(samples["seconds"]));
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
    MPI_Init(&count, &words);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    if (ranks % 2 != 0) fail("the number of ranks must be even");
    std::map<std::string, std::string> options = {
        {"--pattern", "halo"}, {"--form", "nonblocking"}, {"--compute", "work"}, {"--bytes", "64Ki"},
        {"--rounds", "101"},   {"--seconds", "8"},        {"--end", "finalize"}};
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count || !options.contains(words[i]))
            fail(std::string("unknown option or no value: ") + words[i]);
        options[words[i]] = words[i + 1];
    }
    max_rounds = std::stoi(options["--rounds"]);
    max_seconds = std::stod(options["--seconds"]);
    measure({options["--pattern"], options["--form"], options["--compute"], options["--bytes"]});
    if (options["--end"] == "abort") {
        MPI_Barrier(world);
        // The launcher's words at the end must not mix with the result.
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        MPI_Abort(world, 0);
    }
    MPI_Finalize();
    return 0;
}
