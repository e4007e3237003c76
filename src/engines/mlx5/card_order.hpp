// Barriers between the processor and a card. ARM's order between processors does not hold for devices, which
// are in its outer shareable domain (as in util/udma_barrier.h of rdma-core). x86 needs no barrier.
#pragma once

namespace lapwing::mlx5 {

// The card sees stores before this call before stores after it.
inline void order_stores_for_the_card() {
#if defined(__aarch64__)
    asm volatile("dmb oshst" ::: "memory");
#endif
}

// Loads after this call are at least as new as loads before it.
inline void order_reads_of_the_card() {
#if defined(__aarch64__)
    asm volatile("dmb oshld" ::: "memory");
#endif
}

}  // namespace lapwing::mlx5
