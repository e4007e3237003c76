#include "base/error.hpp"
#include "links/fabric.hpp"
#if __has_include(<rdma/fi_tagged.h>)
#include <cstdlib>

#include "links/ofi/fabric.hpp"
#include "links/rdma_devices.hpp"
#endif

namespace lapwing {

std::unique_ptr<Fabric> open_ofi(const FabricOptions& options) {
#if __has_include(<rdma/fi_tagged.h>)
    if (options.rdma_only && infiniband_devices().empty() && slingshot_devices().empty())
        throw Error(ErrorCode::system, "no InfiniBand, RoCE, EFA, Omni-Path or Slingshot device");
    // libfabric's own variable. A single provider is used even if it is not worth using by default. A list,
    // and exclusions, are left to libfabric.
    const char* wanted = std::getenv("FI_PROVIDER");
    const std::string provider = wanted == nullptr ? "" : wanted;
    return ofi_fabric(provider.find_first_of(",^") == std::string::npos ? provider : "", options);
#else
    static_cast<void>(options);
    throw Error(ErrorCode::system, "Lapwing was built without libfabric (libfabric-dev)");
#endif
}

}  // namespace lapwing
