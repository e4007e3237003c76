/* A double of libucp.so.0, for what a real one does not do on this machine: it is too old (DOUBLE_UCP=old),
 * or has no room for one more endpoint. Written after the documentation of UCP; strict in what it is given
 * back, and without messages. */
#include <stdlib.h>
#include <string.h>

#include <ucp/api/ucp.h>

static int is(const char* what) {
    const char* const wanted = getenv("DOUBLE_UCP");
    return wanted != NULL && strcmp(wanted, what) == 0;
}

void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
    *major = 1;
    *minor = is("old") ? 9 : 17;
    *release = 0;
}

ucs_status_t ucp_config_read(const char* prefix, const char* file, ucp_config_t** config) {
    (void)prefix, (void)file;
    *config = malloc(1);
    return UCS_OK;
}
ucs_status_t ucp_config_modify(ucp_config_t* config, const char* name, const char* value) {
    (void)config, (void)name, (void)value;
    return UCS_ERR_NO_ELEM; /* an option of other versions */
}
void ucp_config_release(ucp_config_t* config) {
    free(config);
}
static int contexts;
ucs_status_t ucp_init_version(unsigned major, unsigned minor, const ucp_params_t* params,
                              const ucp_config_t* config, ucp_context_h* context) {
    (void)major, (void)minor, (void)params, (void)config;
    ++contexts;
    *context = (ucp_context_h)&contexts;
    return UCS_OK;
}
void ucp_cleanup(ucp_context_h context) {
    /* Given back once, and what was given. */
    if (context != (ucp_context_h)&contexts || contexts-- != 1) abort();
}
void ucp_context_print_info(const ucp_context_h context, FILE* stream) {
    (void)context;
    fputs("# resource 0 :  md 0  dev 0  flags -- rc_mlx5/mlx5_0:1\n", stream);
}
ucs_status_t ucp_worker_create(ucp_context_h context, const ucp_worker_params_t* params,
                               ucp_worker_h* worker) {
    (void)context, (void)params, (void)worker;
    return UCS_ERR_NO_RESOURCE;
}
const char* ucs_status_string(ucs_status_t status) {
    return status == UCS_ERR_NO_RESOURCE ? "No resources are available to initiate the operation"
                                         : "something else";
}
