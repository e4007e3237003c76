#include "lapwing/cluster/inside.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "lapwing/cluster/processors.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

// One host a line, with a slot each: the first ranks go to different hosts.
std::string lines(const ClusterShape& shape, const char* form) {
    std::string text;
    for (const ClusterHost& host : shape.hosts) text += fmt::format(fmt::runtime(form), host.name);
    return text;
}

// The variables of the launchers, with their values.
std::vector<std::pair<const char*, std::string>> variables(const ClusterShape& shape,
                                                           const std::string& shell) {
    const auto file = [](const char* name) { return fmt::format("{}/{}", cluster_directory, name); };
    // libfabric would hide the provider of the triggered engine from those who name only another.
    const char* const deferred_work = std::getenv("LAPWING_TRIGGER_PROVIDER");
    std::vector<std::pair<const char*, std::string>> all = {
        {"OMPI_MCA_plm_rsh_agent", shell},
        {"OMPI_MCA_orte_default_hostfile", file("openmpi.hosts")},
        {"OMPI_MCA_orte_tmpdir_base", host_temporary_directory},
        {"OMPI_MCA_oob_tcp_if_include", "eth0"},
        {"OMPI_MCA_btl_tcp_if_include", "eth0"},
        {"OMPI_MCA_rmaps_base_mapping_policy", "node:OVERSUBSCRIBE"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"PRTE_MCA_plm_ssh_agent", shell},
        {"PRTE_MCA_prte_default_hostfile", file("openmpi.hosts")},
        {"PRTE_MCA_prte_tmpdir_base", host_temporary_directory},
        {"PRTE_MCA_prte_if_include", "eth0"},
        {"PRTE_MCA_rmaps_default_mapping_policy", "node:OVERSUBSCRIBE"},
        {"PRTE_MCA_hwloc_default_binding_policy", "none"},
        {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
        {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"HYDRA_LAUNCHER", "ssh"},
        {"HYDRA_LAUNCHER_EXEC", shell},
        {"HYDRA_HOST_FILE", file("hydra.hosts")},
        {"HYDRA_IFACE", "eth0"},
        // UCX tells hosts apart by the kernel's boot number, which all of them share: without this it would
        // look for shared memory between them.
        {"UCX_TLS", "tcp,self"},
        {"UCX_NET_DEVICES", "eth0"},
        {"I_MPI_HYDRA_BOOTSTRAP", "ssh"},
        {"I_MPI_HYDRA_BOOTSTRAP_EXEC", shell},
        {"I_MPI_HYDRA_HOST_FILE", file("intel.hosts")},
        {"I_MPI_HYDRA_IFACE", "eth0"},
        {"I_MPI_PERHOST", "1"},
        {"I_MPI_PIN", "0"},
        {"I_MPI_FABRICS", "ofi"},
        {"FI_PROVIDER", deferred_work == nullptr ? "tcp" : fmt::format("tcp,{}", deferred_work)},
        {"FI_TCP_IFACE", "eth0"}};
    // Each host sees all cores as its own, so its ranks would never yield.
    if (static_cast<int>(shape.hosts.size()) > usable_processors())
        all.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
    return all;
}

}  // namespace

void prepare_launchers(const ClusterShape& shape) {
    const std::string programs = fmt::format("{}/bin", cluster_directory);
    std::filesystem::create_directory(programs);
    const std::string shell = programs + "/ssh";
    write_cluster_file("bin/ssh", fmt::format("#!/bin/sh\nexec {} cluster-shell \"$@\"\n", quote(shape.tool)),
                       0755);
    write_cluster_file("openmpi.hosts", lines(shape, "{} slots=1\n"));
    write_cluster_file("hydra.hosts", lines(shape, "{}:1\n"));
    write_cluster_file("intel.hosts", lines(shape, "{}\n"));
    for (const auto& [variable, value] : variables(shape, shell)) setenv(variable, value.c_str(), 0);
    // For users: `ssh node2 hostname`.
    const char* path = std::getenv("PATH");
    setenv("PATH", fmt::format("{}:{}", programs, path != nullptr ? path : "/usr/bin:/bin").c_str(), 1);
}

}  // namespace lapwing::tool
