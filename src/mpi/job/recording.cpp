#include "mpi/job/recording.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/messages.hpp"
#include "mpi/native/members.hpp"
#include "mpi/native/named_types.hpp"
#include "mpi/native/request_book.hpp"
#include "watch/mismatches.hpp"

namespace lapwing {
namespace {

// By number, which is equal on all ranks: in the order of named_types().
std::vector<const char*> type_names = {""};

const char* const operation_names[] = {"",
#define LAPWING_OPERATOR(mpi, own) #mpi,
#include "mpi/native/operators.def"
                                       "user operation"};
constexpr auto user_operation = static_cast<std::uint8_t>(std::size(operation_names) - 1);

struct PredefinedType {
    RecordedType recorded;
    TypeKind kind;
};
std::vector<PredefinedType> predefined_types;  // complete before the journal begins

void begin_types() {
    for (const NamedType& type : named_types()) {
        if (type.handle == MPI_DATATYPE_NULL) continue;
        MPI_Count size = 0;
        PMPI_Type_size_x(type.handle, &size);
        if (size <= 0) continue;
        const auto bytes = static_cast<std::uint64_t>(size);
        // Predefined numbers of one kind and size count as one type.
        const auto like = std::ranges::find_if(predefined_types, [&](const PredefinedType& known) {
            return known.kind == type.kind && known.kind < TypeKind::logical && known.recorded.size == bytes;
        });
        const bool is_new = like == predefined_types.end();
        const std::size_t number = is_new ? type_names.size() : like->recorded.number;
        if (is_new) type_names.push_back(type.name);
        predefined_types.push_back({{type.handle, bytes, static_cast<std::uint8_t>(number)}, type.kind});
    }
}

}  // namespace

void begin_recording() {
    begin_types();
    watch::journal().begin(rank_in(MPI_COMM_WORLD), {.any_source = MPI_ANY_SOURCE,
                                                     .proc_null = MPI_PROC_NULL,
                                                     .any_tag = MPI_ANY_TAG,
                                                     .types = type_names.data(),
                                                     .operations = operation_names});
    add_to_journal(MPI_COMM_WORLD, watch::Journal::Creation{}, MPI_COMM_NULL);
    add_to_journal(MPI_COMM_SELF, watch::Journal::Creation{{}, 1}, MPI_COMM_NULL);
    watch::journal().rename(word_of(MPI_COMM_WORLD), "MPI_COMM_WORLD");
    watch::journal().rename(word_of(MPI_COMM_SELF), "MPI_COMM_SELF");
}

void add_to_journal(MPI_Comm communicator, const std::optional<watch::Journal::Creation>& creation,
                    MPI_Comm original) {
    watch::Journal& journal = watch::journal();
    if (!journal.begun() || communicator == MPI_COMM_NULL) return;
    const std::uint64_t handle = word_of(communicator);
    const auto* const copied = original != MPI_COMM_NULL ? record_of(original) : nullptr;
    communicator_changes.fetch_add(1, std::memory_order_release);
    if (!creation) return journal.remove(handle);
    if (copied != nullptr) {
        journal.add_duplicate(handle, *copied, *creation);
        return;
    }
    int inter = 0;
    PMPI_Comm_test_inter(communicator, &inter);
    if (inter != 0) return journal.remove(handle);
    std::vector<int> members = members_within_world(communicator);
    if (members.empty()) return journal.remove(handle);
    journal.add(handle, rank_in(communicator), std::move(members), *creation);
}

void remove_from_journal(MPI_Comm communicator) {
    watch::journal().remove(word_of(communicator));
    communicator_changes.fetch_add(1, std::memory_order_release);
}

constinit thread_local KnownCommunicator last_communicator;
std::atomic<std::uint64_t> communicator_changes{1};

KnownCommunicator& look_up(MPI_Comm communicator) {
    const std::uint64_t changes = communicator_changes.load(std::memory_order_acquire);
    return last_communicator = {communicator, watch::journal().find(word_of(communicator)), nullptr, changes};
}

constinit thread_local RecordedType last_type;
constinit thread_local RecordedOperation last_operation;

RecordedType find_recorded_type(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return {};
    for (const PredefinedType& known : predefined_types) {
        if (known.recorded.handle == type) return last_type = known.recorded;
    }
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    return {type, size > 0 ? static_cast<std::uint64_t>(size) : 0, 0};
}

RecordedOperation find_recorded_operation(MPI_Op op) {
    static const MPI_Op operators[] = {
#define LAPWING_OPERATOR(mpi, own) mpi,
#include "mpi/native/operators.def"
    };
    const auto* const found = std::ranges::find(operators, op);
    if (found == std::end(operators)) return {op, user_operation, true};
    return last_operation = {op, static_cast<std::uint8_t>(found - std::begin(operators) + 1), false};
}

watch::RankSnapshot snapshot_of_this_rank(watch::Lines lines) {
    watch::RankSnapshot snapshot = watch::journal().snapshot(lines);
    snapshot.messages = request_book.moving();
    return snapshot;
}

void compare_calls_at_end(MpiJob& job) {
    if (job.ranks() < 2) return;
    std::uint64_t sum = 0;
    for (const std::uint64_t one : job.exchange_values(watch::journal().checksum())) sum += one;
    if (sum == 0) return;
    watch::RankSnapshot snapshot = watch::journal().snapshot();
    watch::journal().add_closed(snapshot);
    std::vector<watch::RankSnapshot> answers;
    for (const std::vector<std::byte>& bytes : job.gather(watch::encode(snapshot)))
        answers.push_back(watch::decode(bytes));
    if (job.rank() != 0) return;
    for (const std::string& sentence : watch::compare_at_end(answers))
        print_message("lapwing: the calls of the ranks do not match, and results may be wrong: {}\n",
                      sentence);
}

}  // namespace lapwing

extern "C" std::size_t lapwing_snapshot(std::byte* bytes, std::size_t capacity) {
    const std::vector<std::byte> encoded =
        lapwing::watch::encode(lapwing::snapshot_of_this_rank(lapwing::watch::Lines::find));
    if (encoded.size() <= capacity) std::ranges::copy(encoded, bytes);
    return encoded.size();
}
