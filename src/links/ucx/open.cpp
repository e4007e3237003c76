#include "base/error.hpp"
#include "links/fabric.hpp"
#if __has_include(<ucp/api/ucp.h>)
#include "links/rdma_devices.hpp"
#include "links/ucx/fabric.hpp"
#endif

namespace lapwing {

std::unique_ptr<Fabric> open_ucx(const FabricOptions& options) {
#if __has_include(<ucp/api/ucp.h>)
    if (options.rdma_only && infiniband_devices().empty())
        throw Error(ErrorCode::system, "no InfiniBand or RoCE device");
    auto fabric = std::make_unique<ucx::UcxFabric>(options);
    if (options.rdma_only && !fabric->rdma())
        throw Error(ErrorCode::system, "no transport with RDMA: " + fabric->description());
    return fabric;
#else
    static_cast<void>(options);
    throw Error(ErrorCode::system, "Lapwing was built without UCX (libucx-dev)");
#endif
}

}  // namespace lapwing
