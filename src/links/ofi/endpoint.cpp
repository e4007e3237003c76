#include "links/ofi/endpoint.hpp"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::ofi {
Endpoint::Endpoint(Info info, int peers, Completions completions)
    : info_(std::move(info)), traits_(ofi::traits(*info_)) {
    const bool events = completions == Completions::events;
    fabric_ = open<fid_fabric>("fi_fabric", [&](fid_fabric** fabric) {
        return library().fabric(info_->fabric_attr, fabric, nullptr);
    });
    domain_ = open<fid_domain>("fi_domain", [&](fid_domain** domain) {
        return ::fi_domain(fabric_.get(), info_.get(), domain, nullptr);
    });
    addresses_ = open<fid_av>("fi_av_open", [&](fid_av** addresses) {
        fi_av_attr attributes{};
        attributes.type = FI_AV_TABLE;
        attributes.count = static_cast<std::size_t>(peers);
        return ::fi_av_open(domain_.get(), &attributes, addresses, nullptr);
    });
    fi_cq_attr attributes{};
    attributes.format = events ? FI_CQ_FORMAT_MSG : FI_CQ_FORMAT_CONTEXT;
    attributes.wait_obj = FI_WAIT_FD;
    const auto open_completions = [&](fid_cq** opened) {
        return ::fi_cq_open(domain_.get(), &attributes, opened, nullptr);
    };
    fid_cq* with_descriptor = nullptr;
    if (events && open_completions(&with_descriptor) == 0) {
        completions_.reset(with_descriptor);
    } else {
        attributes.wait_obj = FI_WAIT_NONE;
        completions_ = open<fid_cq>("fi_cq_open", open_completions);
    }
    endpoint_ = open<fid_ep>("fi_endpoint", [&](fid_ep** endpoint) {
        return ::fi_endpoint(domain_.get(), info_.get(), endpoint, nullptr);
    });
    check(::fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind");
    // Without events the queue is only for providers that insist on one.
    const std::uint64_t selective = events ? 0 : FI_SELECTIVE_COMPLETION;
    check(::fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV | selective), "fi_ep_bind");
    check(::fi_enable(endpoint_.get()), "fi_enable");
    if (attributes.wait_obj == FI_WAIT_FD && ::fi_control(&completions_->fid, FI_GETWAIT, &descriptor_) != 0)
        descriptor_ = -1;
}

std::string Endpoint::device() const {
    return info_->domain_attr->name == nullptr ? "?" : info_->domain_attr->name;
}

BusinessCard Endpoint::card() const {
    BusinessCard card;
    card.host = tcp::host_number();
    card.provider = provider();
    card.device = device();
    card.format = info_->addr_format;
    const std::uint64_t format = info_->ep_attr->mem_tag_format;
    // Providers that do not report the number have at least as many as Slingshot.
    card.tag_bits = format == 0 ? 48 : static_cast<std::uint32_t>(std::bit_width(format));
    card.address = address();
    return card;
}

std::vector<std::byte> Endpoint::address() const {
    std::size_t size = 256;
    std::vector<std::byte> bytes(size);
    long result = ::fi_getname(&endpoint_->fid, bytes.data(), &size);
    bytes.resize(size);
    if (result == -FI_ETOOSMALL) result = ::fi_getname(&endpoint_->fid, bytes.data(), &size);
    check(result, "fi_getname");
    return bytes;
}

std::vector<fi_addr_t> Endpoint::insert(const std::vector<std::byte>& addresses, std::size_t count) {
    std::vector<fi_addr_t> result(count, FI_ADDR_UNSPEC);
    const int inserted = ::fi_av_insert(addresses_.get(), addresses.data(), count, result.data(), 0, nullptr);
    if (inserted != static_cast<int>(count))
        throw Error(ErrorCode::link, "libfabric ({}) accepts only {} of {} addresses{}", provider(),
                    std::max(inserted, 0), count,
                    inserted < 0 ? fmt::format(": {}", why(inserted)) : std::string());
    return result;
}

bool Endpoint::may_sleep() {
    if (descriptor_ < 0) return true;
    fid* all[] = {&completions_->fid};
    return ::fi_trywait(fabric_.get(), all, 1) != -FI_EAGAIN;
}

void Endpoint::close() {
    endpoint_.reset();
    completions_.reset();
}

std::unique_ptr<Endpoint> open_first(std::vector<Info> candidates, int ranks) {
    std::string reasons;
    for (Info& candidate : candidates) {
        const std::string name = candidate->fabric_attr->prov_name;
        const std::string device = candidate->domain_attr->name == nullptr
                                       ? ""
                                       : fmt::format(" on {}", candidate->domain_attr->name);
        try {
            return std::make_unique<Endpoint>(std::move(candidate), ranks);
        } catch (const Error& error) {
            reasons += fmt::format("{}{}{}: {}", reasons.empty() ? "" : "; ", name, device, error.what());
        }
    }
    throw Error(ErrorCode::unsupported, "{}: {}", library().name, reasons);
}

}  // namespace lapwing::ofi
