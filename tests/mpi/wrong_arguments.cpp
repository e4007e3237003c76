//   wrong_arguments-<mpi> nonblocking | blocking | persistent | own_blocks FILE
// Calls with wrong arguments, by all ranks. Rank 0 writes the class of the error of each to FILE, and the MPI
// alone is asked the same: wrong_arguments.py compares. Nothing of this may hang, end the job, or reach a
// buffer. own_blocks: nonblocking calls of rank 0 that send it another length than it receives from itself.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator_table.hpp"
#include "persistent_forms.hpp"

namespace {

#ifdef OPEN_MPI
constexpr bool open_mpi = true;
#else
constexpr bool open_mpi = false;
#endif

constexpr std::size_t room = 64;
constexpr int untouched = -7;

int rank = 0;
int ranks = 0;
int number = 0;
std::FILE* answers = nullptr;

enum class Form { nonblocking, blocking, persistent, own_blocks } form = Form::nonblocking;

int class_of(int error) {
    int found = 0;
    if (error != MPI_SUCCESS) MPI_Error_class(error, &found);
    return found;
}

// What one call is given; each collective takes what it has.
struct Arguments {
    const void* sent = nullptr;
    void* received = nullptr;
    int count = 1;
    MPI_Datatype sent_type = MPI_INT;
    MPI_Datatype received_type = MPI_INT;
    MPI_Op op = MPI_SUM;
    int root = 0;

    // For each rank; they must stay until the collective is complete.
    std::vector<int> counts = {};
    std::vector<MPI_Datatype> sent_types = {};
    std::vector<MPI_Datatype> received_types = {};
};

enum class Kind { data, reduction, neighbors };
// Who looks at a buffer, or a type.
enum class Who { nobody, root, all };

struct Collective {
    const char* name;
    Kind kind;
    Who sends;
    Who receives;
    std::function<int(const Arguments&, MPI_Comm, MPI_Request*)> start;
};

const int zeros[room] = {};
const MPI_Aint zero_addresses[room] = {};

// Kind, who looks at what is sent and at what is received, the function's name, and its arguments without the
// request. A persistent collective is made only.
#define COLLECTIVE(kind, sends, receives, lower, upper, ...)                                             \
    {                                                                                                    \
        "I" #lower, kind, sends, receives, [](const Arguments& a, MPI_Comm comm, MPI_Request* request) { \
            switch (form) {                                                                              \
                case Form::blocking:                                                                     \
                    return MPI_##upper(__VA_ARGS__);                                                     \
                case Form::persistent:                                                                   \
                    return PERSISTENT(upper)(__VA_ARGS__, MPI_INFO_NULL, request);                       \
                default:                                                                                 \
                    return MPI_I##lower(__VA_ARGS__, request);                                           \
            }                                                                                            \
        }                                                                                                \
    }

// What most calls of one kind are given.
#define SEND a.sent, a.count, a.sent_type
#define RECEIVE a.received, a.count, a.received_type
#define SENDV a.sent, a.counts.data(), zeros, a.sent_type
#define RECEIVEV a.received, a.counts.data(), zeros, a.received_type
#define REDUCE a.sent, a.received, a.count, a.sent_type, a.op
using enum Kind;
using enum Who;

const Collective collectives[] = {
    COLLECTIVE(data, all, nobody, bcast, Bcast, const_cast<void*>(a.sent), a.count, a.sent_type, a.root,
               comm),
    COLLECTIVE(data, all, root, gather, Gather, SEND, RECEIVE, a.root, comm),
    COLLECTIVE(data, all, root, gatherv, Gatherv, SEND, RECEIVEV, a.root, comm),
    COLLECTIVE(data, root, all, scatter, Scatter, SEND, RECEIVE, a.root, comm),
    COLLECTIVE(data, root, all, scatterv, Scatterv, SENDV, RECEIVE, a.root, comm),
    COLLECTIVE(data, all, all, allgather, Allgather, SEND, RECEIVE, comm),
    COLLECTIVE(data, all, all, allgatherv, Allgatherv, SEND, RECEIVEV, comm),
    COLLECTIVE(data, all, all, alltoall, Alltoall, SEND, RECEIVE, comm),
    COLLECTIVE(data, all, all, alltoallv, Alltoallv, SENDV, RECEIVEV, comm),
    COLLECTIVE(data, all, all, alltoallw, Alltoallw, a.sent, a.counts.data(), zeros, a.sent_types.data(),
               a.received, a.counts.data(), zeros,
               (a.sent_type == a.received_type ? a.sent_types : a.received_types).data(), comm),
    COLLECTIVE(reduction, all, root, reduce, Reduce, REDUCE, a.root, comm),
    COLLECTIVE(reduction, all, all, allreduce, Allreduce, REDUCE, comm),
    COLLECTIVE(reduction, all, all, scan, Scan, REDUCE, comm),
    COLLECTIVE(reduction, all, all, exscan, Exscan, REDUCE, comm),
    COLLECTIVE(reduction, all, all, reduce_scatter_block, Reduce_scatter_block, REDUCE, comm),
    COLLECTIVE(reduction, all, all, reduce_scatter, Reduce_scatter, a.sent, a.received, a.counts.data(),
               a.sent_type, a.op, comm),
    COLLECTIVE(neighbors, all, all, neighbor_allgather, Neighbor_allgather, SEND, RECEIVE, comm),
    COLLECTIVE(neighbors, all, all, neighbor_allgatherv, Neighbor_allgatherv, SEND, RECEIVEV, comm),
    COLLECTIVE(neighbors, all, all, neighbor_alltoall, Neighbor_alltoall, SEND, RECEIVE, comm),
    COLLECTIVE(neighbors, all, all, neighbor_alltoallv, Neighbor_alltoallv, SENDV, RECEIVEV, comm),
    COLLECTIVE(neighbors, all, all, neighbor_alltoallw, Neighbor_alltoallw, a.sent, a.counts.data(),
               zero_addresses, a.sent_types.data(), a.received, a.counts.data(), zero_addresses,
               a.received_types.data(), comm),
};

// Of all ranks, or of this one alone: with neighbours on a ring.
MPI_Comm make_communicator(bool of_all, Kind kind) {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, of_all ? 0 : rank, rank, &own);
    const int size = of_all ? ranks : 1;
    const int periodic = 1;
    if (kind == Kind::neighbors)
        MPI_Cart_create(own, 1, &size, &periodic, 0, &made);
    else
        MPI_Comm_dup(own, &made);
    MPI_Comm_free(&own);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

void tell(const std::string& what, int error, MPI_Request request) {
    int waited = MPI_SUCCESS;
    if (error == MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        if (form == Form::persistent) MPI_Start(&request);
        waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    if (form == Form::own_blocks) {
        const bool of_rank_0 = what.find("of rank 0") != std::string::npos;
        const int expected = of_rank_0 && rank != 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
        if (error != MPI_SUCCESS || class_of(waited) != expected) {
            std::printf("rank %d, %s: %d %d\n", rank, what.c_str(), class_of(error), class_of(waited));
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    std::fprintf(answers, "%d %s: %d %d\n", number, what.c_str(), class_of(error), class_of(waited));
    std::fflush(answers);
}

class Cases {
  public:
    explicit Cases(const Collective& collective)
        : collective_(collective), sent_(room, 1), received_(room, untouched) {
        MPI_Type_contiguous(1, MPI_INT, &uncommitted_);
        MPI_Type_contiguous(1, MPI_INT, &derived_);
        MPI_Type_commit(&derived_);
        MPI_Type_contiguous(0, MPI_INT, &empty_);
        MPI_Type_commit(&empty_);
    }
    ~Cases() {
        MPI_Type_free(&uncommitted_);
        MPI_Type_free(&derived_);
        MPI_Type_free(&empty_);
    }
    Cases(const Cases&) = delete;
    Cases& operator=(const Cases&) = delete;

    void run() {
        const bool reduces = collective_.kind == Kind::reduction;
        const bool receives = collective_.receives != Who::nobody;
        // MPICH looks for the rank's own block: with more ranks that is another place on each.
        const bool own = std::strstr(collective_.name, "gather") != nullptr ||
                         std::strstr(collective_.name, "Iscatter") != nullptr ||
                         collective_.receives == Who::root;
        const Who both = own ? Who::root : Who::all;
        const bool looks_for_aliases = open_mpi || collective_.kind != Kind::neighbors;
        // MPICH takes it in reductions, and writes past the buffer.
        if (open_mpi || !reduces) wrong("a negative count", Who::all, [](Arguments& a) { a.count = -1; });
        wrong("no type", collective_.sends, [](Arguments& a) { a.sent_type = MPI_DATATYPE_NULL; });
        for (const int count : {1, 0}) {
            const auto wrong_with_count = [&](const std::string& what, Who who, const auto& change) {
                wrong(what + ", " + std::to_string(count), who, [&](Arguments& a) {
                    a.count = count;
                    change(a);
                });
            };
            // Where there are no elements, some functions look, and some do not.
            if (count > 0)
                wrong_with_count("an uncommitted type", collective_.sends,
                                 [&](Arguments& a) { a.sent_type = uncommitted_; });
            if (count > 0 && receives && !reduces)
                wrong_with_count("an uncommitted type to receive", collective_.receives,
                                 [&](Arguments& a) { a.received_type = uncommitted_; });
            // MPICH reads and writes there.
            const bool unchecked = !open_mpi && count > 0 && !receives;
            if (!unchecked && (!receives || collective_.kind == Kind::neighbors ||
                               std::strstr(collective_.name, "scatter") == collective_.name + 1)) {
                if (open_mpi || collective_.kind != Kind::neighbors || count == 0)
                    wrong_with_count("MPI_IN_PLACE to send", collective_.sends,
                                     [&](Arguments& a) { a.sent = MPI_IN_PLACE; });
            }
            // Open MPI's blocking one writes there.
            const bool checks_place =
                !open_mpi || form != Form::blocking || std::strcmp(collective_.name, "Iexscan") != 0;
            if (receives && checks_place &&
                std::strstr(collective_.name, "scatter") != collective_.name + 1 &&
                (open_mpi || collective_.kind != Kind::neighbors || count == 0))
                wrong_with_count("MPI_IN_PLACE to receive", collective_.receives,
                                 [&](Arguments& a) { a.received = MPI_IN_PLACE; });
            // Open MPI's forms of MPI_Reduce differ where there are no elements.
            if (receives && looks_for_aliases && (count > 0 || !open_mpi))
                wrong_with_count("one buffer", both,
                                 [&](Arguments& a) { a.received = const_cast<void*>(a.sent); });
            // Open MPI reads and writes there.
            if (!open_mpi || count == 0) {
                wrong_with_count("no buffer to send", collective_.sends,
                                 [&](Arguments& a) { a.sent = nullptr; });
                if (receives)
                    wrong_with_count("no buffer to receive", collective_.receives,
                                     [&](Arguments& a) { a.received = nullptr; });
            }
        }
        if (receives && looks_for_aliases)
            wrong("two elements in one buffer", both, [&](Arguments& a) {
                a.count = 2;
                a.received = const_cast<void*>(a.sent);
            });
        if (reduces) operators();
    }

    // MPICH and Open MPI find such a mistake in some calls, and copy beyond a buffer in others.
    void differing_own_blocks() {
        if (collective_.kind == Kind::reduction || collective_.receives == Who::nobody) return;
        const std::string name = collective_.name;
        const bool to_each_rank =
            name == "Ialltoallv" || name == "Ialltoallw" || collective_.kind == Kind::neighbors;
        wrong("a longer own block to send", Who::root, [](Arguments& a) { a.received_type = MPI_CHAR; });
        wrong("a longer own block to receive", Who::root, [](Arguments& a) { a.sent_type = MPI_CHAR; });
        wrong("no own block to send", Who::root, [&](Arguments& a) { a.sent_type = empty_; });
        if (to_each_rank) return;
        // The other ranks' blocks are right.
        wrong("the own block of rank 0", Who::all, [&](Arguments& a) {
            if (rank == 0) (name.find("Iscatter") == 0 ? a.received_type : a.sent_type) = MPI_CHAR;
        });
    }

  private:
    void operators() {
        std::vector<operator_table::OperatorRow> operators = operator_table::operators();
        operators.insert(
            operators.end(),
            {{MPI_REPLACE, "MPI_REPLACE", 0}, {MPI_NO_OP, "MPI_NO_OP", 0}, {MPI_OP_NULL, "no operator", 0}});
        std::vector<operator_table::TypeRow> types;
        for (const auto& [type, name] : {std::pair{MPI_CHAR, "MPI_CHAR"},
                                         {MPI_WCHAR, "MPI_WCHAR"},
                                         {MPI_PACKED, "MPI_PACKED"},
                                         {MPI_CHARACTER, "MPI_CHARACTER"},
                                         {derived_, "a derived type"}})
            types.push_back({type, name, 0, {}});
        std::set<std::pair<unsigned, lapwing::Type>> kinds;  // one type of each is enough
        for (const operator_table::TypeRow& type : operator_table::types())
            if (kinds.emplace(type.group, type.parts.front().type).second) types.push_back(type);
        const bool all_pairs = std::strcmp(collective_.name, "Iallreduce") == 0;
        for (const operator_table::OperatorRow& op : operators) {
            for (const operator_table::TypeRow& type : types) {
                const bool with_data = unfit(op.op, type.type);
                if (!with_data && !all_pairs) continue;
                for (const int count : {1, 0}) {
                    if (count > 0 && !with_data) continue;
                    wrong(op.name + std::string(" of ") + type.name + ", " + std::to_string(count), Who::all,
                          [&](Arguments& a) {
                              a.op = op.op;
                              a.sent_type = type.type;
                              a.count = count;
                          });
                }
            }
        }
    }

    // A few that both MPIs refuse.
    bool unfit(MPI_Op op, MPI_Datatype type) const {
        if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP) return type == MPI_INT;
        if (op == MPI_BAND) return type == MPI_DOUBLE || type == MPI_FLOAT || type == derived_;
        if (op == MPI_MINLOC) return type == MPI_INT || type == MPI_C_BOOL || type == derived_;
        if (op == MPI_SUM) return type == MPI_DOUBLE_INT || type == MPI_2INT || type == derived_;
        return op == MPI_MAX && type == MPI_C_DOUBLE_COMPLEX;
    }

    // `who` looks at what is wrong: where that is the root alone, each rank is the root of its own.
    void wrong(const std::string& what, Who who, const std::function<void(Arguments&)>& change) {
        for (const bool of_all : {false, true}) {
            if (of_all && who != Who::all) continue;
            ++number;
            std::fill(sent_.begin(), sent_.end(), 1);
            std::fill(received_.begin(), received_.end(), untouched);
            Arguments arguments;
            arguments.sent = sent_.data();
            arguments.received = received_.data();
            change(arguments);
            arguments.counts.assign(room, arguments.count);
            arguments.sent_types.assign(room, arguments.sent_type);
            arguments.received_types.assign(room, arguments.received_type);
            MPI_Comm communicator = make_communicator(of_all, collective_.kind);
            MPI_Request request = MPI_REQUEST_NULL;
            const int error = collective_.start(arguments, communicator, &request);
            const std::string where = of_all ? ", all ranks" : ", one rank";
            tell(collective_.name + (", " + what) + where, error, request);
            const bool touched =
                received_ != std::vector<int>(room, untouched) || sent_ != std::vector<int>(room, 1);
            // Open MPI finds some too late.
            const bool failed = error != MPI_SUCCESS || (form == Form::own_blocks && !of_all);
            if (failed && touched) std::fprintf(answers, "%d touched\n", number);
            MPI_Comm_free(&communicator);
        }
    }

    const Collective& collective_;
    std::vector<int> sent_;
    std::vector<int> received_;
    MPI_Datatype uncommitted_ = MPI_DATATYPE_NULL;
    MPI_Datatype derived_ = MPI_DATATYPE_NULL;
    MPI_Datatype empty_ = MPI_DATATYPE_NULL;
};

// Rank 0 does with an active collective what the standard forbids: the others have not started it.
void requests() {
    MPI_Comm communicator = make_communicator(true, Kind::data);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
        MPI_Ibarrier(communicator, &request);
        tell("MPI_Cancel", MPI_Cancel(&request), MPI_REQUEST_NULL);
        tell("MPI_Request_free", MPI_Request_free(&request), MPI_REQUEST_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) MPI_Ibarrier(communicator, &request);
    tell("and it goes on", MPI_SUCCESS, request);
    MPI_Comm_free(&communicator);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // Not all errors are raised on the communicator of the collective.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    const std::string wanted = argv[1];
    form = wanted == "blocking"     ? Form::blocking
           : wanted == "persistent" ? Form::persistent
           : wanted == "own_blocks" ? Form::own_blocks
                                    : Form::nonblocking;
    // The MPIs write lines of their own to the output.
    answers = std::fopen(rank == 0 ? argv[2] : "/dev/null", "w");
    if (answers == nullptr) MPI_Abort(MPI_COMM_WORLD, 2);
    for (const Collective& collective : collectives) {
        Cases cases(collective);
        form == Form::own_blocks ? cases.differing_own_blocks() : cases.run();
    }
    if (ranks > 1 && form == Form::nonblocking) requests();
    std::fprintf(answers, "end\n");
    MPI_Finalize();
    return 0;
}
