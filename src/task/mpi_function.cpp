#include "task/mpi_function.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>

namespace lapwing {
namespace {

using Kind = MpiFunction::Kind;
using Form = MpiFunction::Form;

struct MessageFunction {
    std::string_view stem;  // after "MPI_", blocking, without "_init" and "_c"
    Kind kind;
    bool synchronous = false;
};
constexpr MessageFunction messages[] = {
    {"Send", Kind::send},         {"Ssend", Kind::send, true},
    {"Rsend", Kind::send},        {"Bsend", Kind::send},
    {"Recv", Kind::receive},      {"Mrecv", Kind::receive},
    {"Sendrecv", Kind::exchange}, {"Sendrecv_replace", Kind::exchange},
    {"Probe", Kind::probe},       {"Mprobe", Kind::probe},
};

// Of the kinds communicator and other, see MpiFunction::synchronizes.
constexpr std::string_view synchronizing[] = {
    "Finalize",
    "Comm_accept",
    "Comm_connect",
    "Comm_create",
    "Comm_create_group",
    "Comm_create_from_group",
    "Comm_disconnect",
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Comm_split",
    "Comm_split_type",
    "Comm_free",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "Intercomm_create",
    "Intercomm_merge",
    "Win_create",
    "Win_allocate",
    "Win_allocate_shared",
    "Win_create_dynamic",
    "Win_fence",
    "Win_free",
    "File_open",
    "File_close",
    "File_read_all",
    "File_read_at_all",
    "File_write_all",
    "File_write_at_all",
};

bool consume_suffix(std::string_view& text, std::string_view suffix) {
    if (!text.ends_with(suffix)) return false;
    text.remove_suffix(suffix.size());
    return true;
}

// "Ialltoall": "Alltoall", if `text` begins with an I that stands for "immediate".
std::optional<std::string> blocking_form(std::string_view text) {
    if (text.size() < 2 || text[0] != 'I' || std::islower(static_cast<unsigned char>(text[1])) == 0)
        return {};
    std::string stem(text.substr(1));
    stem[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(stem[0])));
    return stem;
}

std::optional<MpiFunction> completing(std::string_view name) {
    MpiFunction function{.kind = Kind::complete};
    if (name == "Request_get_status") {
        function.waits = MpiFunction::Waits::one;
        function.polls = true;
        return function;
    }
    function.polls = name.starts_with("Test");
    if (!function.polls && !name.starts_with("Wait")) return {};
    const std::string_view end = name.substr(4);
    using Waits = MpiFunction::Waits;
    constexpr std::pair<std::string_view, Waits> ends[] = {
        {"", Waits::one}, {"any", Waits::any}, {"some", Waits::some}, {"all", Waits::all}};
    const auto* const found = std::ranges::find(ends, end, &std::pair<std::string_view, Waits>::first);
    if (found == std::end(ends)) return {};
    function.waits = found->second;
    return function;
}

}  // namespace

MpiFunction MpiFunction::of(std::string_view name) {
    name.remove_prefix(std::min(name.size(), name.starts_with("MPIX_") ? std::size_t{5} : std::size_t{4}));
    if (const auto function = completing(name)) return *function;
    if (name == "Start" || name == "Startall") return {.kind = Kind::start};
    if (name == "Request_free") return {.kind = Kind::release};
    MpiFunction function;
    consume_suffix(name, "_c");
    function.synchronizes = std::ranges::find(synchronizing, name) != std::end(synchronizing);
    if ((name.starts_with("Comm_") && name != "Comm_free" && name != "Comm_disconnect") ||
        name.starts_with("Cart_") || name.starts_with("Graph_") || name.starts_with("Dist_graph_") ||
        name.starts_with("Intercomm_")) {
        function.kind = Kind::communicator;
        if (name.starts_with("Comm_idup")) function.form = Form::nonblocking;
        return function;
    }
    if (consume_suffix(name, "_init")) function.form = Form::persistent;
    std::string stem(name);
    if (const auto blocking = blocking_form(name); blocking && function.form == Form::blocking) {
        stem = *blocking;
        function.form = Form::nonblocking;
    }
    const auto* const row = std::ranges::find(messages, std::string_view(stem), &MessageFunction::stem);
    if (row != std::end(messages)) {
        function.kind = row->kind;
        function.synchronous = row->synchronous;
        if (row->kind == Kind::probe && function.form == Form::nonblocking) {  // makes no request
            function.form = Form::blocking;
            function.polls = true;
        }
        return function;
    }
    function.collective = find_collective("MPI_" + stem);
    if (!function.collective) return {.synchronizes = function.synchronizes};
    function.kind = Kind::collective;
    return function;
}

}  // namespace lapwing
