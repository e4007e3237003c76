// libucp, loaded at run time: the copy that the process has loaded already (often the MPI's), or the
// system's.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

namespace lapwing::ucx {

// The functions that Lapwing uses.
#define LAPWING_UCX_FUNCTIONS(FUNCTION)      \
    FUNCTION(ucp_get_version)                \
    FUNCTION(ucp_config_read)                \
    FUNCTION(ucp_config_modify)              \
    FUNCTION(ucp_config_release)             \
    FUNCTION(ucp_init_version)               \
    FUNCTION(ucp_cleanup)                    \
    FUNCTION(ucp_context_print_info)         \
    FUNCTION(ucp_mem_map)                    \
    FUNCTION(ucp_mem_unmap)                  \
    FUNCTION(ucp_mem_query)                  \
    FUNCTION(ucp_rkey_pack)                  \
    FUNCTION(ucp_rkey_buffer_release)        \
    FUNCTION(ucp_worker_create)              \
    FUNCTION(ucp_worker_destroy)             \
    FUNCTION(ucp_worker_get_address)         \
    FUNCTION(ucp_worker_release_address)     \
    FUNCTION(ucp_worker_get_efd)             \
    FUNCTION(ucp_worker_arm)                 \
    FUNCTION(ucp_worker_progress)            \
    FUNCTION(ucp_worker_flush_nbx)           \
    FUNCTION(ucp_worker_set_am_recv_handler) \
    FUNCTION(ucp_ep_create)                  \
    FUNCTION(ucp_ep_close_nbx)               \
    FUNCTION(ucp_ep_rkey_unpack)             \
    FUNCTION(ucp_rkey_destroy)               \
    FUNCTION(ucp_put_nbx)                    \
    FUNCTION(ucp_am_send_nbx)                \
    FUNCTION(ucp_am_recv_data_nbx)           \
    FUNCTION(ucp_am_data_release)            \
    FUNCTION(ucp_request_check_status)       \
    FUNCTION(ucp_request_free)               \
    FUNCTION(ucs_status_string)

struct Library {
#define LAPWING_UCX_FUNCTION(function) decltype(&::function) function = nullptr;
    LAPWING_UCX_FUNCTIONS(LAPWING_UCX_FUNCTION)
#undef LAPWING_UCX_FUNCTION
    std::string version;  // "1.13.1"
};

// Loads it at the first call; it stays loaded. Throws Error (system) with what is missing.
const Library& library();

}  // namespace lapwing::ucx
