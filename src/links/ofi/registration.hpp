// Memory for providers that want to know it before they send from it or receive into it (FI_MR_LOCAL). Short
// messages pass through memory that is registered once; the spans of longer ones are registered for their
// transfer alone. There is no cache of the program's memory: one that misses an munmap() corrupts data.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "links/ofi/endpoint.hpp"

namespace lapwing::ofi {

// Not thread-safe.
class Registration {
  public:
    static constexpr std::size_t bounce_bytes = 2048;

    // What a transfer hands to libfabric.
    struct Span {
        std::byte* data = nullptr;  // the span itself, or a bounce buffer
        void* descriptor = nullptr;
        Open<fid_mr> region;
        std::byte* bounce = nullptr;
    };

    explicit Registration(const Endpoint& endpoint);

    // Where the provider does not ask, the span as it is. Throws Error (system).
    Span take(const std::byte* data, std::size_t bytes, bool receive);
    // The transfer has ended.
    void give_back(Span& span);

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

    Open<fid_mr> add(const std::byte* data, std::size_t bytes, std::uint64_t access);
    void add_slab();

    const Endpoint& endpoint_;
    const bool needed_;
    std::uint64_t next_key_ = 1;  // for providers that do not choose keys themselves
    std::vector<Slab> slabs_;
    std::vector<Bounce> idle_;
};

}  // namespace lapwing::ofi
