// Functions of rdma-core, which is loaded when a card is opened.
#pragma once

#if __has_include(<infiniband/mlx5dv.h>)

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace lapwing::mlx5 {

// Functions of libibverbs.so.1 and libmlx5.so.1.
struct Library {
    decltype(&::ibv_get_device_list) get_device_list;
    decltype(&::ibv_free_device_list) free_device_list;
    decltype(&::ibv_get_device_name) get_device_name;
    decltype(&::ibv_close_device) close_device;
    decltype(&::ibv_alloc_pd) alloc_pd;
    decltype(&::ibv_dealloc_pd) dealloc_pd;
    decltype(&::ibv_destroy_cq) destroy_cq;
    decltype(&::ibv_create_comp_channel) create_comp_channel;
    decltype(&::ibv_destroy_comp_channel) destroy_comp_channel;
    decltype(&::ibv_get_cq_event) get_cq_event;
    decltype(&::ibv_ack_cq_events) ack_cq_events;
    decltype(&::ibv_dereg_mr) dereg_mr;
    decltype(&::ibv_create_ah) create_ah;
    decltype(&::ibv_destroy_ah) destroy_ah;
    ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int);
    int (*query_port)(ibv_context*, std::uint8_t, void*);
    int (*query_gid)(ibv_context*, std::uint8_t, int, ibv_gid*);
    int (*query_gid_ex)(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t,
                        std::size_t);

    decltype(&::mlx5dv_is_supported) is_supported;
    decltype(&::mlx5dv_open_device) open_device;
    decltype(&::mlx5dv_init_obj) init_obj;
    decltype(&::mlx5dv_devx_general_cmd) general_command;
    decltype(&::mlx5dv_devx_obj_create) obj_create;
    decltype(&::mlx5dv_devx_obj_modify) obj_modify;
    decltype(&::mlx5dv_devx_obj_destroy) obj_destroy;
    decltype(&::mlx5dv_devx_umem_reg) umem_reg;
    decltype(&::mlx5dv_devx_umem_dereg) umem_dereg;
    decltype(&::mlx5dv_devx_alloc_uar) alloc_uar;
    decltype(&::mlx5dv_devx_free_uar) free_uar;
};

// Throws Error (unsupported) if rdma-core is not installed, or lacks a function.
const Library& library();

}  // namespace lapwing::mlx5

#endif
