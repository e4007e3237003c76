#include "links/ofi/registration.hpp"

#include <rdma/fi_endpoint.h>

#include <cstring>

#include "base/error.hpp"
#include "links/ofi/library.hpp"

namespace lapwing::ofi {

Registration::Registration(const Endpoint& endpoint)
    : endpoint_(endpoint), needed_((endpoint.info().domain_attr->mr_mode & FI_MR_LOCAL) != 0) {}

Open<fid_mr> register_memory(const Endpoint& endpoint, const std::byte* data, std::size_t bytes,
                             std::uint64_t access, const std::function<std::uint64_t()>& next_key,
                             fid_cntr* counter) {
    const int mode = endpoint.info().domain_attr->mr_mode;
    fid_mr* made = nullptr;
    long result = -FI_ENOKEY;
    for (int tries = 0; tries < 10 && result == -FI_ENOKEY; ++tries)
        result = ::fi_mr_reg(endpoint.domain(), data, bytes, access, 0,
                             (mode & FI_MR_PROV_KEY) != 0 ? 0 : next_key(),
                             counter == nullptr ? 0 : FI_RMA_EVENT, &made, nullptr);
    Open<fid_mr> region(result == 0 ? made : nullptr);
    if (result == 0 && counter != nullptr) result = ::fi_mr_bind(made, &counter->fid, FI_REMOTE_WRITE);
    if (result == 0 && (mode & FI_MR_ENDPOINT) != 0) {
        result = ::fi_mr_bind(made, &endpoint.endpoint()->fid, 0);
        if (result == 0) result = ::fi_mr_enable(made);
    }
    if (result != 0)
        throw Error(ErrorCode::system,
                    "libfabric ({}) cannot register {} bytes of memory: {}; is `ulimit -l` low?",
                    endpoint.provider(), bytes, why(result));
    return region;
}

void Registration::add_slab() {
    Slab slab;
    slab.memory = std::make_unique<std::byte[]>(slab_buffers * bounce_bytes);
    slab.region = register_memory(endpoint_, slab.memory.get(), slab_buffers * bounce_bytes,
                                  FI_SEND | FI_RECV, [this] { return next_key_++; });
    void* descriptor = ::fi_mr_desc(slab.region.get());
    for (std::size_t i = 0; i < slab_buffers; ++i)
        idle_.push_back({slab.memory.get() + i * bounce_bytes, descriptor});
    slabs_.push_back(std::move(slab));
}

Registration::Span Registration::take(const std::byte* data, std::size_t bytes, bool receive) {
    Span span;
    span.data = const_cast<std::byte*>(data);  // sends only read it
    if (!needed_ || bytes == 0) return span;
    if (bytes > bounce_bytes) {
        span.region = register_memory(endpoint_, data, bytes, receive ? FI_RECV : FI_SEND,
                                      [this] { return next_key_++; });
        span.descriptor = ::fi_mr_desc(span.region.get());
        return span;
    }
    if (idle_.empty()) add_slab();
    const Bounce bounce = idle_.back();
    idle_.pop_back();
    span.data = span.bounce = bounce.memory;
    span.descriptor = bounce.descriptor;
    if (!receive) std::memcpy(span.data, data, bytes);
    return span;
}

void Registration::release(Span& span) {
    if (span.bounce != nullptr) idle_.push_back({span.bounce, span.descriptor});
    span = {};
}

}  // namespace lapwing::ofi
