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

void offer(const char* variable, const std::string& value) {
    setenv(variable, value.c_str(), 0);
}

// One host a line, with a slot each: the first ranks go to different hosts.
std::string lines(const ClusterShape& shape, const char* form) {
    std::string text;
    for (const ClusterHost& host : shape.hosts) text += fmt::format(fmt::runtime(form), host.name);
    return text;
}

bool hosts_outnumber_cores(const ClusterShape& shape) {
    return static_cast<int>(shape.hosts.size()) > usable_processors();
}

void prepare_openmpi_4(const std::string& shell, const std::string& hosts, bool oversubscribed) {
    offer("OMPI_MCA_plm_rsh_agent", shell);
    offer("OMPI_MCA_orte_default_hostfile", hosts);
    offer("OMPI_MCA_orte_tmpdir_base", host_temporary_directory);
    offer("OMPI_MCA_oob_tcp_if_include", "eth0");
    offer("OMPI_MCA_btl_tcp_if_include", "eth0");
    offer("OMPI_MCA_rmaps_base_mapping_policy", "node:OVERSUBSCRIBE");
    offer("OMPI_MCA_hwloc_base_binding_policy", "none");
    offer("OMPI_ALLOW_RUN_AS_ROOT", "1");
    offer("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // Each host sees all cores as its own, so its ranks would never yield.
    if (oversubscribed) offer("OMPI_MCA_mpi_yield_when_idle", "1");
}

void prepare_openmpi_5(const std::string& shell, const std::string& hosts) {
    offer("PRTE_MCA_plm_ssh_agent", shell);
    offer("PRTE_MCA_prte_default_hostfile", hosts);
    offer("PRTE_MCA_prte_tmpdir_base", host_temporary_directory);
    offer("PRTE_MCA_prte_if_include", "eth0");
    offer("PRTE_MCA_rmaps_default_mapping_policy", "node:OVERSUBSCRIBE");
    offer("PRTE_MCA_hwloc_default_binding_policy", "none");
    offer("PRTE_ALLOW_RUN_AS_ROOT", "1");
    offer("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
}

void prepare_hydra(const std::string& shell, const std::string& hosts) {
    offer("HYDRA_LAUNCHER", "ssh");
    offer("HYDRA_LAUNCHER_EXEC", shell);
    offer("HYDRA_HOST_FILE", hosts);
    offer("HYDRA_IFACE", "eth0");
    // UCX tells hosts apart by the kernel's boot number, which all of them share: without this it would look
    // for shared memory between them.
    offer("UCX_TLS", "tcp,self");
    offer("UCX_NET_DEVICES", "eth0");
}

void prepare_intel(const std::string& shell, const std::string& hosts) {
    offer("I_MPI_HYDRA_BOOTSTRAP", "ssh");
    offer("I_MPI_HYDRA_BOOTSTRAP_EXEC", shell);
    offer("I_MPI_HYDRA_HOST_FILE", hosts);
    offer("I_MPI_HYDRA_IFACE", "eth0");
    offer("I_MPI_PERHOST", "1");
    offer("I_MPI_PIN", "0");
    offer("I_MPI_FABRICS", "ofi");
    // libfabric would hide the provider of the triggered engine from those who name only another.
    const char* const deferred_work = std::getenv("LAPWING_TRIGGER_PROVIDER");
    offer("FI_PROVIDER", deferred_work == nullptr ? "tcp" : fmt::format("tcp,{}", deferred_work));
    offer("FI_TCP_IFACE", "eth0");
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
    const auto file = [](const char* name) { return fmt::format("{}/{}", cluster_directory, name); };
    prepare_openmpi_4(shell, file("openmpi.hosts"), hosts_outnumber_cores(shape));
    prepare_openmpi_5(shell, file("openmpi.hosts"));
    prepare_hydra(shell, file("hydra.hosts"));
    prepare_intel(shell, file("intel.hosts"));
    // For users: `ssh node2 hostname`.
    const char* path = std::getenv("PATH");
    setenv("PATH", fmt::format("{}:{}", programs, path != nullptr ? path : "/usr/bin:/bin").c_str(), 1);
}

}  // namespace lapwing::tool
