// One endpoint of libfabric and the objects that it needs: fabric, domain, address vector and completion
// queue.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <string>
#include <vector>

#include "links/ofi/business_card.hpp"
#include "links/ofi/library.hpp"
#include "links/ofi/providers.hpp"

namespace lapwing::ofi {

// How an endpoint's completions are reported: by events of the completion queue, or by counters alone.
enum class Completions { events, counters };

// Not thread-safe. Its members close in the right order.
class Endpoint {
  public:
    // `peers`: how many will be inserted; 0: unknown. Throws Error (unsupported) with the provider's reason:
    // no card, no permission, no room for a second endpoint beside the MPI's.
    Endpoint(Info info, int peers, Completions completions = Completions::events);

    const fi_info& info() const { return *info_; }
    const ProviderTraits& traits() const { return traits_; }
    fid_ep* endpoint() const { return endpoint_.get(); }
    fid_cq* completions() const { return completions_.get(); }
    fid_domain* domain() const { return domain_.get(); }
    std::string provider() const { return info_->fabric_attr->prov_name; }
    std::string device() const;  // "eth0"

    std::vector<std::byte> address() const;
    BusinessCard card() const;
    // Inserts `count` addresses, one after the other in `addresses`. Throws Error (link).
    std::vector<fi_addr_t> insert(const std::vector<std::byte>& addresses, std::size_t count);

    int descriptor() const { return descriptor_; }  // -1: the provider has none
    bool may_sleep();

    // Ends all transfers. The domain stays open, for memory that is registered there.
    void close();

  private:
    Info info_;
    ProviderTraits traits_;
    Open<fid_fabric> fabric_;
    Open<fid_domain> domain_;
    Open<fid_av> addresses_;
    Open<fid_cq> completions_;
    Open<fid_ep> endpoint_;
    int descriptor_ = -1;
};

// Opens the first of `candidates` that can be opened, for a job of `ranks`. Throws Error (unsupported) with
// the reason of each.
std::unique_ptr<Endpoint> open_first(std::vector<Info> candidates, int ranks);

}  // namespace lapwing::ofi
