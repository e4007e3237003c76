// Registers memory for providers that require it before they send from it or receive into it (FI_MR_LOCAL).
// Short messages are copied through memory that is registered once; the memory of a longer message is
// registered for its transfer alone. There is no cache of the program's memory: a cache that misses an
// munmap() corrupts data.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "links/ofi/endpoint.hpp"

namespace lapwing::ofi {

// Registers memory with the endpoint's domain. `next_key`: for providers that do not choose keys themselves;
// called again if the key is in use. `counter`: counts writes of peers; may be null. Throws Error (system).
Open<fid_mr> register_memory(const Endpoint& endpoint, const std::byte* data, std::size_t bytes,
                             std::uint64_t access, const std::function<std::uint64_t()>& next_key,
                             fid_cntr* counter = nullptr);

// Not thread-safe.
class Registration {
  public:
    static constexpr std::size_t bounce_bytes = 2048;

    // The memory of one transfer, for libfabric.
    struct Span {
        std::byte* data = nullptr;  // the span itself, or a bounce buffer
        void* descriptor = nullptr;
        Open<fid_mr> region;
        std::byte* bounce = nullptr;
    };

    explicit Registration(const Endpoint& endpoint);

    // Returns the span itself if the provider does not require registration. Throws Error (system).
    Span take(const std::byte* data, std::size_t bytes, bool receive);
    // The transfer has ended.
    void release(Span& span);

  private:
    static constexpr std::size_t slab_buffers = 64;
    struct Slab {
        std::unique_ptr<std::byte[]> memory;
        Open<fid_mr> region;
    };
    struct Bounce {
        std::byte* memory;
        void* descriptor;
    };

    void add_slab();

    const Endpoint& endpoint_;
    const bool needed_;
    std::uint64_t next_key_ = 1;
    std::vector<Slab> slabs_;
    std::vector<Bounce> idle_;
};

}  // namespace lapwing::ofi
