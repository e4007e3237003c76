// One endpoint of libfabric with what it needs: fabric, domain, address vector and completion queue.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <string>
#include <vector>

#include "links/ofi/business_card.hpp"
#include "links/ofi/objects.hpp"
#include "links/ofi/providers.hpp"

namespace lapwing::ofi {

// Not thread-safe. Its members close in the right order.
class Endpoint {
  public:
    // Throws Error (unsupported) with the provider's reason: no card, no rights, no room for a second
    // endpoint beside the MPI's.
    Endpoint(Info info, int ranks);

    const fi_info& info() const { return *info_; }
    const ProviderTraits& traits() const { return traits_; }
    fid_ep* endpoint() const { return endpoint_.get(); }
    fid_cq* completions() const { return completions_.get(); }
    fid_domain* domain() const { return domain_.get(); }
    std::string provider() const { return info_->fabric_attr->prov_name; }
    std::string device() const;  // "eth0"

    BusinessCard card() const;  // without the presence
    // The endpoints of the cards, by their place. Throws Error (link).
    std::vector<fi_addr_t> insert(const std::vector<BusinessCard>& cards);

    int descriptor() const { return descriptor_; }  // -1: there is none
    bool may_sleep();

    // Ends all transfers. The domain stays, for memory that is registered there.
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

// The first of `candidates` that opens, for a job of so many ranks. Throws Error (unsupported) that says why
// each did not.
std::unique_ptr<Endpoint> open_first(std::vector<Info> candidates, int ranks);

}  // namespace lapwing::ofi
