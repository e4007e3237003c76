// The endpoints of a job's ranks, all in this process, over each fabric that is here.
#pragma once

#include <ostream>

#include "base/error.hpp"
#include "links/fabrics.hpp"
#include "links/tcp/endpoint.hpp"
#ifdef LAPWING_TEST_OFI_DOUBLES
#include "links/ofi/fabric.hpp"
#include "support/unit.hpp"
#endif

namespace lapwing::testing_links {

using Variables = std::vector<std::pair<const char*, const char*>>;

// A fabric, and what its library uses of this machine.
struct FabricCase {
    const char* name;                // for the test
    const char* fabric;              // ucx
    Variables variables = {};        // set while the fabric is opened
    bool puts = false;               // short messages are written
    const char* provider = nullptr;  // of libfabric; null: as jobs choose
};
inline const std::vector<FabricCase> fabric_cases = {
    {"ucx_tcp", "ucx", {{"UCX_TLS", "tcp,self"}}},
    {"ucx_all", "ucx"},
    {"ofi", "ofi"},
    {"tcp", "tcp"},
    {"ucx_tcp_puts", "ucx", {{"UCX_TLS", "tcp,self"}}, true},
    {"ucx_all_puts", "ucx", {}, true},
    {"ofi_puts", "ofi", {}, true},
};
inline void PrintTo(const FabricCase& which, std::ostream* stream) {
    *stream << which.name;
}
inline std::string name_of(const testing::TestParamInfo<FabricCase>& info) {
    return info.param.name;
}

inline std::unique_ptr<Fabric> open_fabric(const FabricCase& which, int ranks,
                                           tcp::Endpoint* sockets = nullptr) {
    for (const auto& [name, value] : which.variables) ::setenv(name, value, 1);
#ifdef __SANITIZE_THREAD__
    // UCX's hooks of memory functions run in threads that the sanitizer does not know yet.
    ::setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 1);
#endif
    const FabricOptions options{.ranks = ranks, .puts = which.puts, .sockets = sockets};
    std::unique_ptr<Fabric> fabric;
    std::string why;
    try {
        for (const FabricKind& kind : fabrics())
            if (which.provider == nullptr && kind.name == std::string(which.fabric))
                fabric = kind.open(options);
#ifdef LAPWING_TEST_OFI_DOUBLES
        if (which.provider != nullptr) fabric = ofi_fabric(which.provider, options);
#endif
    } catch (const Error& error) {
        why = error.what();
    }
    for (const auto& [name, value] : which.variables) ::unsetenv(name);
    if (fabric == nullptr) throw Error(ErrorCode::system, std::string(which.fabric) + ": " + why);
    return fabric;
}

// Empty, or why this machine does not have it. A machine that has promised it, by TEST_NETWORKS=ucx,ofi in
// the environment as in CI (.ci/run), fails the test.
inline std::string why_not(const FabricCase& which) {
    try {
        open_fabric(which, 1);
        return "";
    } catch (const Error& error) {
        const char* const promises = std::getenv("TEST_NETWORKS");
        const std::string among = "," + std::string(promises == nullptr ? "" : promises) + ",";
        EXPECT_EQ(among.find("," + std::string(which.fabric) + ","), std::string::npos) << error.what();
        return error.what();
    }
}

constexpr JobKey job_key = {0x1234567890abcdef, 2, 3, 4};
constexpr tcp::Key key_of_sockets = {1, 2, 3};

class FabricJob {
  public:
    FabricJob(const FabricCase& which, int ranks) {
        std::vector<tcp::Address> addresses;
        for (int rank = 0; rank < ranks; ++rank) {
            sockets_.push_back(std::make_unique<tcp::Endpoint>(tcp::Options{}));
            addresses.push_back(sockets_.back()->address());
            std::snprintf(addresses.back().name, sizeof addresses.back().name, "node%d", rank);
        }
        std::vector<Fabric::Peer> peers;
        for (int rank = 0; rank < ranks; ++rank) {
            tcp::Endpoint* const sockets = sockets_[static_cast<std::size_t>(rank)].get();
            sockets->admit(key_of_sockets, addresses, rank);
            fabrics_.push_back(open_fabric(which, ranks, sockets));
            peers.push_back({fabrics_.back()->address(), "node" + std::to_string(rank)});
        }
        for (int rank = 0; rank < ranks; ++rank) at(rank).join(peers, rank, job_key);
    }
    // As ranks do before they leave.
    ~FabricJob() {
        for (bool all = false; !all;) {
            all = true;
            for (const auto& fabric : fabrics_)
                if (fabric != nullptr) all = fabric->flush() && all;
            progress();
        }
    }
    FabricJob(const FabricJob&) = delete;
    FabricJob& operator=(const FabricJob&) = delete;

    Fabric& at(int rank) { return *fabrics_[static_cast<std::size_t>(rank)]; }
    void progress() {
        for (const auto& fabric : fabrics_)
            if (fabric != nullptr) fabric->progress();
    }
    tcp::Address address(int rank) const { return sockets_[static_cast<std::size_t>(rank)]->address(); }
    // Its process ends.
    void end(int rank) {
        fabrics_[static_cast<std::size_t>(rank)].reset();
        sockets_[static_cast<std::size_t>(rank)].reset();
    }

  private:
    std::vector<std::unique_ptr<tcp::Endpoint>> sockets_;
    std::vector<std::unique_ptr<Fabric>> fabrics_;
};

}  // namespace lapwing::testing_links
