// The order in which a card sees what the processor stores, and the processor what the card does. ARM's order
// between processors does not hold for devices, which are in its outer shareable domain (as in
// util/udma_barrier.h of rdma-core); x86 needs no more than it has.
#pragma once

namespace lapwing::mlx5 {

// What is stored before is seen before what is stored after.
inline void order_stores_for_the_card() {
#if defined(__aarch64__)
    asm volatile("dmb oshst" ::: "memory");
#endif
}

// What is read after is at least as new as what was read before.
inline void order_reads_of_the_card() {
#if defined(__aarch64__)
    asm volatile("dmb oshld" ::: "memory");
#endif
}

}  // namespace lapwing::mlx5
