#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "links/fabric.hpp"
#if __has_include(<rdma/fi_tagged.h>)
#include <cstdlib>

#include "links/ofi/fabric.hpp"
#endif

namespace lapwing {
namespace {

// InfiniBand, RoCE, EFA and Omni-Path; Slingshot.
constexpr const char* devices[] = {"/sys/class/infiniband", "/sys/class/cxi"};

bool has_device() {
    std::error_code none;
    for (const char* one : devices)
        if (std::filesystem::directory_iterator(one, none) != std::filesystem::directory_iterator())
            return true;
    return false;
}

}  // namespace

std::unique_ptr<Fabric> open_ofi(const FabricOptions& options) {
#if __has_include(<rdma/fi_tagged.h>)
    if (options.rdma_only && !has_device())
        throw Error(ErrorCode::system, "no InfiniBand, RoCE, EFA, Omni-Path or Slingshot device");
    // libfabric's own variable; who names one provider there means that one, also where it is not taken by
    // itself. A list, or one that is to be left out, libfabric heeds alone.
    const char* wanted = std::getenv("FI_PROVIDER");
    const std::string provider = wanted == nullptr ? "" : wanted;
    return ofi_fabric(provider.find_first_of(",^") == std::string::npos ? provider : "", options);
#else
    static_cast<void>(has_device);
    static_cast<void>(options);
    throw Error(ErrorCode::system, "Lapwing was built without libfabric (libfabric-dev)");
#endif
}

}  // namespace lapwing
