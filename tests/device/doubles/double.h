/* What the doubles of drivers' libraries offer to tests, beside the functions of the drivers. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* How often a function of the driver was called so far, by its name in the library. */
unsigned long long lapwing_double_calls(const char* function);
/* Bytes that asynchronous copies have moved, to the host and from it. */
unsigned long long lapwing_double_bytes_to_host(void);
unsigned long long lapwing_double_bytes_to_device(void);
/* The next calls of a function fail, each with this error code. */
void lapwing_double_fail(const char* function, int code, int times);
/* CUDA: nonzero: questions about pointers need a current context, which the documentation allows. */
void lapwing_double_demand_context(int demanded);

#ifdef __cplusplus
}
#endif
