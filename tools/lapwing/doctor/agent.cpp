#include "lapwing/doctor/agent.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/doctor/check.hpp"
#include "lapwing/doctor/reports.hpp"
#include "links/tcp/addresses.hpp"
#include "watch/local_socket.hpp"

namespace lapwing::tool {
namespace {

// The first of the variables that is set, as a number; -1 without one.
int number_by(std::initializer_list<const char*> variables) {
    for (const char* variable : variables) {
        if (const char* const value = std::getenv(variable)) return std::atoi(value);
    }
    return -1;
}

int own_rank() {
    return number_by({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"});
}

int job_ranks() {
    return number_by({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PALS_SIZE", "SLURM_NTASKS"});
}

nlohmann::json variables_that_are_set() {
    nlohmann::json found = nlohmann::json::object();
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (text.starts_with("LAPWING_") && equals != std::string_view::npos && equals + 1 < text.size())
            found[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    return found;
}

std::string wrong_with_variables() {
    try {
        // Files are a check of their own.
        const GivenSetting no_files[] = {{nullptr, &Settings::tuning, ""},
                                         {nullptr, &Settings::topology, ""}};
        checked_settings(no_files);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace

// The names of Unix sockets belong to a network namespace, as the numbers of hosts do.
tcp::Socket be_first_of_host(const std::string& run) {
    try {
        return watch::listen_locally("lapwing-doctor-" + run);
    } catch (const Error&) {
        return {};
    }
}

int survey_host(const std::string& run, const std::string& family, int seconds) {
    // Nothing of it outlives a launcher that was killed.
    alarm(static_cast<unsigned>(seconds));
    const tcp::Socket first = be_first_of_host(run);
    const std::uint64_t host = tcp::host_number();
    write_report({{"kind", "rank"},
                  {"host", host},
                  {"name", tcp::host_name()},
                  {"rank", own_rank()},
                  {"ranks", job_ranks()},
                  {"settings", variables_that_are_set()},
                  {"wrong", wrong_with_variables()}});
    if (!first) return success;
    const MpiFamily& mpi = find_mpi_family(family);
    for (const Check* check : host_checks()) {
        Facts facts;
        try {
            facts = check->facts(mpi);
        } catch (const std::exception& error) {
            facts = {{"error", error.what()}};
        }
        write_report({{"kind", "facts"}, {"host", host}, {"check", check->name}, {"facts", facts}});
    }
    return success;
}

}  // namespace lapwing::tool
