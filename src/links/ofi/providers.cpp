#include "links/ofi/providers.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "links/ofi/library.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::ofi {
namespace {

// In the order in which they are tried. `sockets` is slow and deprecated, and `shm` reaches only one host:
// users must name them.
constexpr ProviderTraits by_themselves[] = {
    {.name = "cxi", .rdma = true},
    {.name = "efa", .rdma = true},
    {.name = "psm3", .rdma = true},
    {.name = "opx", .rdma = true},
    {.name = "verbs;ofi_rxm", .rdma = true},
    {.name = "tcp;ofi_rxm", .descriptor_wakes = true, .sends_in_order = true, .excess_disconnects = true},
    {.name = "tcp"},
};
constexpr ProviderTraits others;

// Whether `named`, as the user writes it, is `provider`: "tcp" is also "tcp;ofi_rxm".
bool means(std::string_view named, std::string_view provider) {
    return provider == named || provider == std::string(named) + ";ofi_rxm";
}

// The memory modes that cost nothing for sends and receives.
constexpr int memory_modes = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;

enum class Use { messages, messages_and_puts, deferred_work };

Info ask(Use use, const std::string& provider, int memory, bool manual_progress) {
    const Library& fabric = library();
    const Info hints(fabric.dupinfo(nullptr));
    if (!hints) throw Error(ErrorCode::system, "libfabric: out of memory");
    const bool deferred = use == Use::deferred_work;
    hints->caps = deferred ? FI_RMA | FI_WRITE | FI_REMOTE_WRITE | FI_RMA_EVENT | FI_TRIGGER
                           : FI_TAGGED | FI_DIRECTED_RECV;
    if (use == Use::messages_and_puts) hints->caps |= FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = deferred ? FI_ORDER_WAW : FI_ORDER_SAS;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    if (manual_progress)
        hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->mr_mode = memory;
    // libfabric frees it with the hints.
    if (!provider.empty()) hints->fabric_attr->prov_name = ::strdup(provider.c_str());
    fi_info* found = nullptr;
    const int result = fabric.getinfo(api_version, nullptr, nullptr, 0, hints.get(), &found);
    if (result == -FI_ENODATA) return nullptr;
    if (result != 0) throw Error(ErrorCode::unsupported, "{}: fi_getinfo: {}", fabric.name, why(result));
    return Info(found);
}

// Providers that require the registration of memory come last: it costs each message a call.
std::vector<Info> ask_all(Use use, const std::string& provider) {
    std::vector<Info> result;
    for (const int memory : {memory_modes, memory_modes | FI_MR_LOCAL}) {
        for (const bool manual : {true, false}) {
            // No thread makes progress for deferred work or registers the memory that it sends.
            if (use == Use::deferred_work && (manual || (memory & FI_MR_LOCAL) != 0)) continue;
            Info found = ask(use, provider, memory, manual);
            if (found) result.push_back(std::move(found));
        }
    }
    return result;
}

bool is_bridge(const std::string& interface) {
    struct stat there {};
    return ::stat(fmt::format("/sys/class/net/{}/bridge", interface).c_str(), &there) == 0;
}

// The addresses of this host, best first. Peers on other hosts reach this host without its bridges, too;
// therefore bridges come last, but before the loopback.
std::vector<tcp::IpAddress> ips(const tcp::Options& options) {
    std::vector<tcp::Interface> present = tcp::interfaces();
    if (options.interfaces.empty())
        std::stable_partition(present.begin(), present.end(),
                              [](const tcp::Interface& one) { return !is_bridge(one.name); });
    return tcp::choose(options, present);
}

// The position of the address of `info` among `allowed`; their number if it is not among them. Addresses that
// are not Internet addresses have position 0.
std::size_t rank_of(const fi_info& info, const std::vector<tcp::IpAddress>& allowed) {
    if (info.src_addr == nullptr) return 0;
    if (info.addr_format != FI_SOCKADDR_IN && info.addr_format != FI_SOCKADDR_IN6) return 0;
    const auto own = tcp::ip_of(*static_cast<const sockaddr*>(info.src_addr));
    if (!own) return 0;
    return static_cast<std::size_t>(
        std::ranges::find_if(allowed, [&](const tcp::IpAddress& ip) { return tcp::same_address(ip, *own); }) -
        allowed.begin());
}

// Whether it uses an interface of the kernel, as psm3 may, and not a card of its own.
bool by_interface(const fi_info& info) {
    struct stat there {};
    return info.domain_attr->name != nullptr &&
           ::stat(fmt::format("/sys/class/net/{}", info.domain_attr->name).c_str(), &there) == 0;
}

std::string name_of(const fi_info& info) {
    return info.fabric_attr->prov_name == nullptr ? "" : info.fabric_attr->prov_name;
}

std::string names(const std::vector<Info>& offers) {
    std::set<std::string> found;
    for (const Info& list : offers)
        for (const fi_info* one = list.get(); one != nullptr; one = one->next) found.insert(name_of(*one));
    return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

std::vector<Info> ask_everywhere(Use use, const std::string& named) {
    std::vector<Info> offers = ask_all(use, "");
    // Some are offered only if they are named.
    if (!named.empty())
        for (Info& offer : ask_all(use, named)) offers.push_back(std::move(offer));
    return offers;
}

// The offer at the best of the allowed addresses, from the first list that has one which is `wanted`; null if
// no list has.
template <typename Wanted>
Info best_of(const std::vector<Info>& offers, const std::vector<tcp::IpAddress>& allowed,
             const Wanted& wanted) {
    for (const Info& list : offers) {
        const fi_info* best = nullptr;
        for (const fi_info* one = list.get(); one != nullptr; one = one->next) {
            if (!wanted(*one) || rank_of(*one, allowed) >= allowed.size()) continue;
            if (best == nullptr || rank_of(*one, allowed) < rank_of(*best, allowed)) best = one;
        }
        if (best != nullptr) return Info(library().dupinfo(best));
    }
    return nullptr;
}

}  // namespace

void FreeInfo::operator()(fi_info* info) const {
    library().freeinfo(info);
}

ProviderTraits traits(const fi_info& info) {
    const auto* found = std::ranges::find_if(
        by_themselves, [&](const ProviderTraits& one) { return name_of(info) == one.name; });
    ProviderTraits result = found == std::end(by_themselves) ? others : *found;
    if (by_interface(info)) result.rdma = false;
    return result;
}

std::vector<Info> candidates(const std::string& named, bool rdma_only, bool puts,
                             const tcp::Options& options) {
    // Its descriptor stays readable in libfabric 1.17 although there is nothing to read: a sleeping thread
    // would occupy a core.
    if (means("net", named))
        throw Error(ErrorCode::unsupported, "libfabric's provider 'net' cannot wake a thread; use tcp");
    const std::vector<tcp::IpAddress> allowed = ips(options);
    const std::vector<Info> offers = ask_everywhere(puts ? Use::messages_and_puts : Use::messages, named);
    std::vector<Info> result;
    if (named.empty()) {
        for (const ProviderTraits& known : by_themselves) {
            if (rdma_only && !known.rdma) continue;
            Info best = best_of(offers, allowed, [&](const fi_info& one) {
                return name_of(one) == known.name && traits(one).rdma == known.rdma;
            });
            if (best) result.push_back(std::move(best));
        }
    } else {
        // If there are both, the provider with rxm has more features.
        for (const bool with_rxm : {true, false}) {
            Info best = best_of(offers, allowed, [&](const fi_info& one) {
                const std::string name = name_of(one);
                return means(named, name) && (!with_rxm || name.ends_with(";ofi_rxm")) &&
                       (!rdma_only || traits(one).rdma);
            });
            if (!best) continue;
            result.push_back(std::move(best));
            break;
        }
    }
    if (result.empty())
        throw Error(ErrorCode::unsupported, "{} has no {} on this host; it offers {}", library().name,
                    named.empty() ? rdma_only ? "provider with RDMA" : "provider between hosts"
                                  : "provider '" + named + "'",
                    names(offers));
    return result;
}

Info candidate_for_deferred_work(const std::string& provider, const tcp::Options& options) {
    const std::vector<tcp::IpAddress> allowed = ips(options);
    const std::vector<Info> offers = ask_everywhere(Use::deferred_work, provider);
    Info best = best_of(offers, allowed, [&](const fi_info& one) { return name_of(one) == provider; });
    if (best == nullptr)
        throw Error(ErrorCode::unsupported,
                    "{} has no provider '{}' with deferred work on this host; with it: {}", library().name,
                    provider, names(offers));
    return best;
}

}  // namespace lapwing::ofi
