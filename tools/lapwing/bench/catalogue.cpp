#include "lapwing/bench/catalogue.hpp"

#include <algorithm>

#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

using Unit = Column::Unit;

const char* const engines_of_papers = "mpi,host,kernel";

const std::vector<Benchmark>& all() {
    static const std::vector<Benchmark> list = {
        {"latency",
         "Time of a blocking collective, and of start and wait",
         "A tight loop of the blocking collective, and one of start and wait at once; nothing is\n"
         "computed, and the ranks do not meet between two. Lapwing's engines take the blocking forms,\n"
         "too (LAPWING_BLOCKING=1). Graham et al. 2010, Figures 4 and 5; Kandalla et al. 2011 (P3DFFT),\n"
         "Figure 7.",
         engines_of_papers,
         {{"--collective", "ibarrier,ibcast,ialltoall"},
          {"--bytes", "8,4Ki,64Ki,1Mi", "8,64Ki"},
          {"--rounds", "11", "3"},
          {"--seconds", "6", "0.5"},
          {"--form", "blocking,nonblocking"}},
         {{"latency", "latency us", Unit::microseconds, true}, {"ratio", "/ mpi", Unit::number}}},
        {"overlap",
         "How much of a collective hides behind computation",
         "By waiting: start, one block of work, wait (Graham et al. 2010, Figure 7); --steps does it\n"
         "with work of 10 % of the base time, 20 %, and so on to 100 %. By polling: quanta of work with\n"
         "a test after each until the collective is complete (Figure 6). For a fixed time: computation\n"
         "until a clock says that the base time is over (Kandalla et al. 2011 (P3DFFT), Figures 5 and\n"
         "8).",
         engines_of_papers,
         {{"--collective", "ialltoall,ibcast,igather,ibarrier", "ialltoall,ibarrier"},
          {"--bytes", "4Ki:1Mi", "64Ki"},
          {"--rounds", "9", "3"},
          {"--seconds", "0", "0.5"},
          {"--method", "wait"},
          {"--compute", "work"},
          {"--work-factor", "1.2"},
          {"--quantum", "0"},
          {"--steps", ""},
          {"--no-limit", ""},
          {"--idle", ""}},
         {}},
        {"total",
         "Time of a collective together with computation of its base time",
         "Start, computation for as long as the collective takes alone, and wait: the time of all of it,\n"
         "beside the base time. Without and with calls of MPI_Test in between. Kandalla et al. 2011\n"
         "(P3DFFT), Figure 9.",
         engines_of_papers,
         {{"--collective", "ialltoall"},
          {"--bytes", "4Ki:1Mi", "4Ki,64Ki"},
          {"--rounds", "9", "3"},
          {"--seconds", "8", "0.5"},
          {"--compute", "auto"},
          {"--tests", "0,1000"}},
         {{"latency", "latency us", Unit::microseconds},
          {"total", "total us", Unit::microseconds, true},
          {"overlap", "overlap %", Unit::percent},
          {"available", "available %", Unit::percent}}},
        {"window",
         "Latency of the all-to-all by the number of exchanges in flight",
         "The pairwise algorithm of MPI_Ialltoall with a window of so many exchanges at a time. A window\n"
         "for all other ranks is the longest. The MPI underneath has no such setting; it is measured\n"
         "beside each. Kandalla et al. 2011 (P3DFFT), Figure 6.",
         engines_of_papers,
         {{"--collective", "ialltoall"},
          {"--bytes", "4Ki,64Ki,1Mi", "64Ki"},
          {"--rounds", "9", "3"},
          {"--seconds", "8", "1"},
          {"--window", "1,2,3,4,6,8,16,32", "1,32"}},
         {{"latency", "latency us", Unit::microseconds, true}, {"ratio", "/ mpi", Unit::number}}},
        {"concurrent",
         "Several collectives in flight at once",
         "So many collectives are started one after the other on one communicator; computation for as\n"
         "long as they take together alone; wait for all. Without and with calls of MPI_Test in between.\n"
         "Kandalla et al. 2011 (P3DFFT), Figure 10.",
         engines_of_papers,
         {{"--collective", "ialltoall"},
          {"--bytes", "4Ki,64Ki,256Ki", "64Ki"},
          {"--rounds", "9", "3"},
          {"--seconds", "10", "1"},
          {"--compute", "auto"},
          {"--collectives", "1,2,4", "1,2"},
          {"--tests", "0,1000", "0"}},
         {{"latency", "latency us", Unit::microseconds},
          {"total", "total us", Unit::microseconds, true},
          {"per_collective", "each us", Unit::microseconds},
          {"overlap", "overlap %", Unit::percent},
          {"available", "available %", Unit::percent}}},
        {"tests",
         "Overlap by the number of calls of MPI_Test",
         "Start, computation for as long as the collective takes alone with so many calls of MPI_Test at\n"
         "even distances, wait. Where a call takes longer than the distance there are fewer (column\n"
         "`made`). Kandalla et al. 2011 (P3DFFT), Table I.",
         engines_of_papers,
         {{"--collective", "ialltoall"},
          {"--bytes", "64Ki,1Mi", "64Ki"},
          {"--rounds", "9", "3"},
          {"--seconds", "30", "1"},
          {"--compute", "auto"},
          {"--tests", "0,2,10,100,1000,10000,100000"}},
         {{"total", "total us", Unit::microseconds},
          {"overlap", "overlap %", Unit::percent, true},
          {"available", "available %", Unit::percent},
          {"tests_made", "made", Unit::number}}},
        {"overhead",
         "What of a collective cannot be hidden",
         "Start, work that takes longer than the collective, wait, with a test for every 2048 bytes of a\n"
         "block: the time in start, tests and wait is the overhead. This is what NBCBench measures:\n"
         "Kaiser et al. 2009, Figure 3.",
         engines_of_papers,
         {{"--collective", "igather,ialltoall"},
          {"--bytes", "64,4Ki,64Ki,1Mi", "64,64Ki"},
          {"--rounds", "9", "3"},
          {"--seconds", "6", "0.5"},
          {"--compute", "auto"},
          {"--work-factor", "1.2"},
          {"--bytes-per-test", "2Ki"}},
         {{"base", "base us", Unit::microseconds},
          {"start", "start us", Unit::microseconds},
          {"test", "tests us", Unit::microseconds},
          {"wait", "wait us", Unit::microseconds},
          {"overhead", "overhead us", Unit::microseconds, true},
          {"share", "/ base %", Unit::percent},
          {"overlap", "overlap %", Unit::percent}}},
        {"throughput",
         "Matrix products beside a broadcast",
         "Each rank multiplies matrices (DGEMM, by OpenBLAS) for 1.2 times the base time of the\n"
         "collective: alone, and between start and wait. The throughput is of one rank, the slowest, and\n"
         "start and wait belong to its time. Kandalla et al. 2011 (HPL), throughput benchmark.",
         engines_of_papers,
         {{"--collective", "ibcast"},
          {"--bytes", "4Ki,64Ki,1Mi", "64Ki"},
          {"--rounds", "9", "3"},
          {"--seconds", "8", "1"},
          {"--work-factor", "1.2"},
          {"--tests", "0"}},
         {{"flops_alone", "alone GFlop/s", Unit::gflops},
          {"flops_beside", "beside GFlop/s", Unit::gflops},
          {"share", "share %", Unit::percent, true}}},
        {"noise",
         "Loss of throughput by processes that compete for the processors",
         "The products of `throughput` beside a collective, without and with a process on each processor\n"
         "that wakes up --frequency times a second and multiplies matrices for --burst microseconds. The\n"
         "loss beside no collective (column `products`) is what the processor loses. Kandalla et al.\n"
         "2011 (HPL), impact of noise.",
         engines_of_papers,
         {{"--collective", "ibcast"},
          {"--bytes", "64Ki"},
          {"--rounds", "9", "2"},
          {"--seconds", "25", "1"},
          {"--work-factor", "1.2"},
          {"--tests", "0,20", "0"},
          {"--frequency", "20,100,1000", "1000"},
          {"--burst", "50,250", "250"}},
         {{"throughput_alone", "quiet GFlop/s", Unit::gflops},
          {"throughput_noise", "noise GFlop/s", Unit::gflops},
          {"loss", "loss %", Unit::percent, true},
          {"loss_of_products", "products %", Unit::percent}}},
        {"connections",
         "Latency of a barrier with connections to some peers, and to all",
         "Start and wait of MPI_Ibarrier by recursive doubling, on a communicator that has connections\n"
         "only to the peers of the barrier (sparse), and on one that an all-to-all has connected to all\n"
         "before (dense). The connections of an MPI and of the host engine serve all communicators:\n"
         "there both are alike. Graham et al. 2010, Figure 3.",
         engines_of_papers,
         {{"--collective", "ibarrier"}, {"--rounds", "21", "3"}, {"--seconds", "8", "1"}},
         {{"latency", "latency us", Unit::microseconds, true}, {"ratio", "/ mpi", Unit::number}}},
        {"methods",
         "How bytes are moved, and who moves them while the program computes",
         "Base time, overlap and overhead (start and wait beside work of 1.2 times the base time) for\n"
         "each way to move bytes inside a host, and for each who moves them while the program computes.\n"
         "Each is a job of its own, as variables decide it; the jobs take turns. --variant\n"
         "NAME:ENGINE:VARIABLES measures others, as --variant fast:host:LAPWING_TRANSFER=kernel. Kaiser\n"
         "et al. 2009, Figure 4, there by kernels of applications.",
         "",
         {{"--collective", "ibcast,ialltoall", "ialltoall"},
          {"--bytes", "4Ki,64Ki,1Mi", "64Ki"},
          {"--rounds", "8", "2"},
          {"--seconds", "6", "0.5"},
          {"--compute", "auto"},
          {"--work-factor", "1.2"},
          {"--variant", ""},
          {"--passes", "2", "1"}},
         {{"base", "base us", Unit::microseconds},
          {"overhead", "overhead us", Unit::microseconds},
          {"total", "total us", Unit::microseconds},
          {"overlap", "overlap %", Unit::percent, true}}},
        {"base",
         "Time of collectives that follow each other at once",
         "The time of start and wait in a row of many, for the MPI underneath and for what Lapwing\n"
         "chooses.",
         "mpi,auto",
         {{"--collective", "ibarrier,ibcast,igather,ialltoall,iallreduce"},
          {"--bytes", "8,4Ki,64Ki,1Mi", "8,64Ki"},
          {"--rounds", "21", "3"},
          {"--seconds", "10", "0.5"}},
         {}},
    };
    return list;
}

constexpr SuitePart parts[] = {
    {"latency", "latency"},
    {"overlap", "overlap", "--method wait,poll,fixed --compute auto", "--bytes 4Ki,64Ki,1Mi --seconds 4"},
    {"overlap_steps", "overlap", "--steps --compute auto",
     "--collective ialltoall,ibarrier --bytes 64Ki,256Ki --seconds 10"},
    {"total", "total"},
    {"window", "window"},
    {"concurrent", "concurrent"},
    {"tests", "tests"},
    {"overhead", "overhead"},
    {"throughput", "throughput"},
    {"noise", "noise"},
    {"connections", "connections"},
    {"methods", "methods"},
};

}  // namespace

const BenchmarkOption* Benchmark::find(const std::string& option) const {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const BenchmarkOption& one) { return option == one.name; });
    return found == options.end() ? nullptr : &*found;
}

std::span<const Benchmark> benchmarks() {
    return all();
}

const Benchmark& find_benchmark(const std::string& name) {
    std::vector<std::string> names;
    for (const Benchmark& one : all()) names.emplace_back(one.name);
    return all()[pick("benchmark", name, names)];
}

std::span<const SuitePart> suite() {
    return parts;
}

const std::vector<Column>& columns_of(const std::string& benchmark, const std::string& method,
                                      bool by_steps) {
    static const std::vector<Column> of_fixed = {{"base", "base us", Unit::microseconds},
                                                 {"total", "total us", Unit::microseconds},
                                                 {"overlap", "overlap %", Unit::percent, true},
                                                 {"available", "available %", Unit::percent}};
    static const std::vector<Column> of_steps = {{"base", "base us", Unit::microseconds},
                                                 {"alone", "alone us", Unit::microseconds},
                                                 {"total", "total us", Unit::microseconds},
                                                 {"overlap", "overlap %", Unit::percent, true},
                                                 {"available", "available %", Unit::percent}};
    if (benchmark == "overlap" && method == "fixed") return of_fixed;
    if (by_steps) return of_steps;
    return find_benchmark(benchmark).columns;
}

}  // namespace lapwing::tool
