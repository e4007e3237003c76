#include "mpi/native/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "links/tcp/addresses.hpp"
#include "mpi/native/libraries.hpp"

namespace lapwing {
namespace {

bool starting = false;
enum class Store { none, pmix, hydra } store = Store::none;  // that has this rank's key

// PMIx. The MPI calls PMIx_Commit between its own keys and the exchange of all keys.

constexpr const char* pmix_key = "lapwing.host";
constexpr std::uint16_t pmix_text = 3;
constexpr std::uint16_t pmix_int = 6;
constexpr std::uint8_t pmix_global = 3;
struct PmixValue {
    std::uint16_t type = pmix_text;
    union {
        char* text = nullptr;
        int number;
    };
    std::array<std::uint64_t, 8> rest{};  // the longest value is shorter
};
struct PmixInfo {
    std::array<char, 512> key{};
    std::uint32_t flags = 0;
    PmixValue value;
};
struct PmixProcess {
    std::array<char, 256> job{};
    std::uint32_t rank;
};

struct Pmix {
    int (*commit)() = nullptr;
    int (*put)(std::uint8_t, const char*, const PmixValue*) = nullptr;
    int (*get)(const PmixProcess*, const char*, const PmixInfo*, std::size_t, PmixValue**) = nullptr;
};

// Open MPI 4 loads PMIx outside of this library's scope.
const Pmix& pmix() {
    static const Pmix all = [] {
        Pmix found;
        for (const Library& library : loaded_libraries()) {
            if (library.is(self()) || library.find("PMIx_Commit") == nullptr) continue;
            const auto find = [&](auto*& function, const char* name) {
                function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.find(name));
            };
            find(found.commit, "PMIx_Commit");
            find(found.put, "PMIx_Put");
            find(found.get, "PMIx_Get");
            break;
        }
        return found;
    }();
    return all;
}

std::string ask_pmix(int rank, const char* key) {
    // Of a rank on another host, Open MPI 5 fetches keys on demand, and its daemon waits for a key that is
    // absent.
    PmixInfo limit{.value = {.type = pmix_int, .number = 5}};
    std::strcpy(limit.key.data(), "pmix.timeout");
    PmixProcess process{.rank = static_cast<std::uint32_t>(rank)};
    const char* const job = std::getenv("PMIX_NAMESPACE");
    std::strncpy(process.job.data(), job != nullptr ? job : "", process.job.size() - 1);
    PmixValue* found = nullptr;
    if (pmix().get(&process, key, &limit, 1, &found) != 0 || found->type != pmix_text) return "";
    std::string text = found->text;
    std::free(found->text);
    std::free(found);
    return text;
}

// Hydra. Its store holds what was put before the MPI's first barrier; the protocol is that of PMI-1.

// Returns the text behind `field` in the answer; empty if there is none, or the request failed.
std::string ask_hydra(const std::string& request, std::string_view field) {
    const int descriptor = std::atoi(std::getenv("PMI_FD"));
    std::string answer;
    // Signals of the program may interrupt these; the rest of an answer would be the MPI's next one.
    if (TEMP_FAILURE_RETRY(::write(descriptor, request.data(), request.size())) < 0) return "";
    for (char letter = 0; TEMP_FAILURE_RETRY(::read(descriptor, &letter, 1)) == 1 && letter != '\n';)
        answer += letter;
    const std::size_t found = answer.find(field);
    const bool failed = answer.find(" rc=") != answer.find(" rc=0");
    if (failed || found == std::string::npos) return "";
    return answer.substr(found + field.size(), answer.find(' ', found) - found - field.size());
}

// "get" or "put"; `words`: key=..., and value=... for "put".
std::string ask_hydra_store(const char* command, const std::string& words, std::string_view field) {
    static const std::string name = ask_hydra("cmd=get_my_kvsname\n", "kvsname=");
    return ask_hydra(fmt::format("cmd={} kvsname={} {}\n", command, name, words), field);
}

// The host's index in the launcher's list; -1: unknown. The mapping has blocks of (first host, hosts, ranks
// on each), which the ranks go through again and again.
int hydra_host_of(int rank, const std::string& mapping) {
    const char* at = nullptr;
    while (true) {
        if (at != nullptr) at = std::strstr(at + 1, ",(");
        if (at == nullptr) at = std::strstr(mapping.c_str(), ",(");
        int first = 0;
        int hosts = 0;
        int each = 0;
        if (at == nullptr || std::sscanf(at, ",(%d,%d,%d)", &first, &hosts, &each) != 3 || hosts * each < 1)
            return -1;
        if (rank < hosts * each) return first + rank / each;
        rank -= hosts * each;
    }
}

std::string announced_host(int rank) {
    if (store == Store::pmix) return ask_pmix(rank, pmix_key);
    return ask_hydra_store("get", fmt::format("key=lapwing-{}", rank), " value=");
}

std::string find_host(int rank, int ranks) {
    if (store == Store::pmix) return ask_pmix(rank, "pmix.hname");
    const std::string mapping = ask_hydra_store("get", "key=PMI_process_mapping", " value=");
    const int host = hydra_host_of(rank, mapping);
    for (int other = 0; other < ranks; ++other) {
        std::string name = hydra_host_of(other, mapping) == host ? announced_host(other) : "";
        if (!name.empty()) return name;
    }
    return fmt::format("number {} of the launcher's list", host + 1);
}

}  // namespace

void announce_rank() {
    starting = true;
#ifndef OPEN_MPI  // whose ranks may inherit these variables from a process that Hydra has started
    const char* const rank = std::getenv("PMI_RANK");
    // Other launchers have no MPI_LOCALNRANKS, and may expect other requests.
    if (std::getenv("PMI_FD") == nullptr || std::getenv("MPI_LOCALNRANKS") == nullptr || rank == nullptr)
        return;
    // Hydra 4.0 forgets at its first "init" what was put before.
    ask_hydra("cmd=init pmi_version=1 pmi_subversion=1\n", "");
    const std::string words = fmt::format("key=lapwing-{} value={}", rank, tcp::host_name());
    if (!ask_hydra_store("put", words, "cmd=").empty()) store = Store::hydra;
#endif
}

std::string next_rank_without_library(int rank, int ranks) {
    const int next = (rank + 1) % ranks;
    starting = false;
    // Where this rank's own key is absent, the MPI has not synchronized the ranks by this store.
    if (store == Store::none || announced_host(rank).empty() || !announced_host(next).empty()) return "";
    return fmt::format("rank {} on host {}", next, find_host(next, ranks));
}

}  // namespace lapwing

extern "C" __attribute__((visibility("default"))) int PMIx_Commit() {
    using namespace lapwing;
    if (starting) {
        std::string host = tcp::host_name();
        const PmixValue value{.text = host.data()};
        if (pmix().put(pmix_global, pmix_key, &value) == 0) store = Store::pmix;
    }
    return pmix().commit();
}
