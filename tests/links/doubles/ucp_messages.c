/* The functions of libucp that nobody may call who has no endpoint. Without this file the double lacks them.
 */
#include <stdlib.h>

#define NEVER(name)   \
    void name(void) { \
        abort();      \
    }

NEVER(ucp_mem_map)
NEVER(ucp_mem_unmap)
NEVER(ucp_mem_query)
NEVER(ucp_rkey_pack)
NEVER(ucp_rkey_buffer_release)
NEVER(ucp_ep_rkey_unpack)
NEVER(ucp_rkey_destroy)
NEVER(ucp_put_nbx)
NEVER(ucp_worker_destroy)
NEVER(ucp_worker_get_address)
NEVER(ucp_worker_release_address)
NEVER(ucp_worker_get_efd)
NEVER(ucp_worker_arm)
NEVER(ucp_worker_progress)
NEVER(ucp_worker_flush_nbx)
NEVER(ucp_worker_set_am_recv_handler)
NEVER(ucp_ep_create)
NEVER(ucp_ep_close_nbx)
NEVER(ucp_am_send_nbx)
NEVER(ucp_am_recv_data_nbx)
NEVER(ucp_am_data_release)
NEVER(ucp_request_check_status)
NEVER(ucp_request_free)
