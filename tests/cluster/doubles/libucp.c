// A double of a broken UCX: whoever loads it is aborted, as by a library whose own checks fail.
#include <stdlib.h>

__attribute__((constructor)) static void fail(void) {
    abort();
}
