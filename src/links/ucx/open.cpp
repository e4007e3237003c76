#include "base/error.hpp"
#include "links/fabric.hpp"
#if __has_include(<ucp/api/ucp.h>)
#include "links/ucx/fabric.hpp"
#endif

namespace lapwing {

std::unique_ptr<Fabric> open_ucx(const FabricOptions& options) {
#if __has_include(<ucp/api/ucp.h>)
    return std::make_unique<ucx::UcxFabric>(options);
#else
    static_cast<void>(options);
    throw Error(ErrorCode::system, "Lapwing was built without UCX (libucx-dev)");
#endif
}

}  // namespace lapwing
