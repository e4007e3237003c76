#include "engines/mlx5/devx_library.hpp"

#if __has_include(<infiniband/mlx5dv.h>)

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace lapwing::mlx5 {
namespace {

void* load(const char* soname) {
    void* handle = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    const char* reason = ::dlerror();
    throw Error(ErrorCode::unsupported, reason == nullptr ? soname : reason);
}

template <typename Function>
void find(void* handle, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, symbol));
    if (function == nullptr)
        throw Error(ErrorCode::unsupported, fmt::format("rdma-core lacks the function {}", symbol));
}

Library find_all() {
    void* const verbs = load("libibverbs.so.1");
    void* const mlx5 = load("libmlx5.so.1");
    Library library{};
    find(verbs, "ibv_get_device_list", library.get_device_list);
    find(verbs, "ibv_free_device_list", library.free_device_list);
    find(verbs, "ibv_get_device_name", library.get_device_name);
    find(verbs, "ibv_close_device", library.close_device);
    find(verbs, "ibv_alloc_pd", library.alloc_pd);
    find(verbs, "ibv_dealloc_pd", library.dealloc_pd);
    find(verbs, "ibv_destroy_cq", library.destroy_cq);
    find(verbs, "ibv_create_comp_channel", library.create_comp_channel);
    find(verbs, "ibv_destroy_comp_channel", library.destroy_comp_channel);
    find(verbs, "ibv_get_cq_event", library.get_cq_event);
    find(verbs, "ibv_ack_cq_events", library.ack_cq_events);
    find(verbs, "ibv_reg_mr", library.reg_mr);
    find(verbs, "ibv_dereg_mr", library.dereg_mr);
    find(verbs, "ibv_create_ah", library.create_ah);
    find(verbs, "ibv_destroy_ah", library.destroy_ah);
    find(verbs, "ibv_query_port", library.query_port);
    find(verbs, "ibv_query_gid", library.query_gid);
    find(verbs, "_ibv_query_gid_ex", library.query_gid_ex);
    find(mlx5, "mlx5dv_is_supported", library.is_supported);
    find(mlx5, "mlx5dv_open_device", library.open_device);
    find(mlx5, "mlx5dv_init_obj", library.init_obj);
    find(mlx5, "mlx5dv_devx_general_cmd", library.general_command);
    find(mlx5, "mlx5dv_devx_obj_create", library.obj_create);
    find(mlx5, "mlx5dv_devx_obj_modify", library.obj_modify);
    find(mlx5, "mlx5dv_devx_obj_destroy", library.obj_destroy);
    find(mlx5, "mlx5dv_devx_umem_reg", library.umem_reg);
    find(mlx5, "mlx5dv_devx_umem_dereg", library.umem_dereg);
    find(mlx5, "mlx5dv_devx_alloc_uar", library.alloc_uar);
    find(mlx5, "mlx5dv_devx_free_uar", library.free_uar);
    return library;
}

}  // namespace

const Library& library() {
    static const Library loaded = find_all();
    return loaded;
}

}  // namespace lapwing::mlx5

#endif
