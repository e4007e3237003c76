// Work-queue entries byte for byte. Each field after two public sources:
//
// - opmod, index, opcode; QPN, DS; flags: rdma-core mlx5dv.h mlx5_wqe_ctrl_seg; DPDK mlx5_prm.h mlx5_wqe_cseg
// - 0x08 in byte 11, completion: mlx5dv.h MLX5_WQE_CTRL_CQ_UPDATE; Linux qp.h MLX5_WQE_CTRL_CQ_UPDATE
// - WAIT 0x0f, SEND_EN 0x17: mlx5_prm.h MLX5_OPCODE_WAIT, MLX5_OPCODE_SEND_EN; pcx dv_mgr.cc
// - max_index at 24, queue at 28: mlx5_prm.h mlx5_wqe_qseg; pcx dv_mgr.cc coredirect_wqe
// - max_index of WAIT, of the completion: libmlx5 4.1 verbs.c (wait_index begins at -1); pcx (count - 1)
// - max_index of SEND_EN, after the last: libmlx5 4.1 verbs.c; pcx dv_mgr.cc
// - remote address, key: mlx5dv.h mlx5_wqe_raddr_seg; mlx5_prm.h mlx5_wqe_rseg
// - data (bytes, key, address): mlx5dv.h mlx5_wqe_data_seg; mlx5_prm.h mlx5_wqe_dseg
// - key 0x100, which ends a receive: mlx5dv.h MLX5_INVALID_LKEY; Linux qp.h MLX5_INVALID_LKEY
// - completions (44, 55, 56, 60, 63): mlx5dv.h mlx5_cqe64, mlx5_err_cqe; mlx5_prm.h mlx5_cqe
#include "engines/mlx5/wqe.hpp"
#include "support/unit.hpp"

#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>
#define LAPWING_TEST_MLX5DV 1
#else
#define LAPWING_TEST_MLX5DV 0
#endif

namespace lapwing::mlx5 {
namespace {

constexpr Position position{0xfff1, 0x123456};

std::string bytes_of(const std::function<void(std::byte*)>& put, std::size_t count) {
    std::array<std::byte, block_bytes> block{};
    put(block.data());
    std::string text;
    for (std::size_t i = 0; i < block.size(); ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<int>(block[i]));
        if (i >= count) {
            EXPECT_STREQ(digits, "00") << "byte " << i;
            continue;
        }
        if (i > 0 && i % 4 == 0) text += ' ';
        text += digits;
    }
    return text;
}

TEST(Mlx5Entries, Wait) {
    EXPECT_EQ(bytes_of([](std::byte* at) { put_wait(at, position, 0xabcdef, 0xfffffe, Report::yes); }, 32),
              "00fff10f 12345602 00000008 00000000 00000000 00000000 00fffffe 00abcdef");
    // The count has 24 bits.
    EXPECT_EQ(bytes_of(
                  [](std::byte* at) {
                      put_wait(at, position, 0xabcdef, 0, Report::no);
                      wait_for(at, 0x1000001);
                      move_to(at, 0x0002);
                  },
                  32),
              "0000020f 12345602 00000000 00000000 00000000 00000000 00000001 00abcdef");
}

TEST(Mlx5Entries, Enable) {
    EXPECT_EQ(bytes_of([](std::byte* at) { put_enable(at, position, 0xabcdef, 0xffff, Report::no); }, 32),
              "00fff117 12345602 00000000 00000000 00000000 00000000 0000ffff 00abcdef");
    EXPECT_EQ(bytes_of(
                  [](std::byte* at) {
                      put_enable(at, position, 0xabcdef, 0xffff, Report::no);
                      enable_up_to(at, 0);
                  },
                  32),
              "00fff117 12345602 00000000 00000000 00000000 00000000 00000000 00abcdef");
}

TEST(Mlx5Entries, SendsAndWrites) {
    const Data data{0x1122334455667788, 0x40000000, 0x99aabbcc};
    EXPECT_EQ(bytes_of([&](std::byte* at) { put_send(at, position, data, Report::yes); }, 32),
              "00fff10a 12345602 00000008 00000000 40000000 99aabbcc 11223344 55667788");
    EXPECT_EQ(bytes_of([&](std::byte* at) { put_send(at, position, {}, Report::no); }, 16),
              "00fff10a 12345601 00000000 00000000");
    EXPECT_EQ(bytes_of([&](std::byte* at) { put_write(at, position, {}, {}, true, Report::no); }, 32),
              "00fff109 12345602 00000000 00000000 00000000 00000000 00000000 00000000");
    EXPECT_EQ(bytes_of(
                  [&](std::byte* at) {
                      put_write(at, position, {0xffeeddccbbaa9988, 0x77665544}, data, false, Report::yes);
                  },
                  48),
              "00fff108 12345603 00000008 00000000 ffeeddcc bbaa9988 77665544 00000000 40000000 99aabbcc "
              "11223344 55667788");
}

TEST(Mlx5Entries, Receives) {
    EXPECT_EQ(bytes_of(
                  [](std::byte* at) {
                      put_receive(at, {0x10, 5, 7});
                  },
                  16),
              "00000005 00000007 00000000 00000010");
    EXPECT_EQ(bytes_of([](std::byte* at) { put_receive(at, {}); }, 16),
              "00000000 00000100 00000000 00000000");
}

#if LAPWING_TEST_MLX5DV
// rdma-core's own functions give the same bytes.
TEST(Mlx5Entries, AgreeWithMlx5dv) {
    std::array<std::byte, block_bytes> ours{};
    put_send(ours.data(), position, {0x1122334455667788, 99, 0x1234}, Report::yes);
    std::array<std::byte, block_bytes> theirs{};
    alignas(16) mlx5_wqe_ctrl_seg control{};
    mlx5dv_set_ctrl_seg(&control, position.index, static_cast<std::uint8_t>(Opcode::send), 0,
                        position.queue_pair, MLX5_WQE_CTRL_CQ_UPDATE, 2, 0, 0);
    alignas(16) mlx5_wqe_data_seg data{};
    mlx5dv_set_data_seg(&data, 99, 0x1234, 0x1122334455667788);
    std::memcpy(theirs.data(), &control, sizeof control);
    std::memcpy(theirs.data() + 16, &data, sizeof data);
    EXPECT_EQ(ours, theirs);
    static_assert(offsetof(mlx5_cqe64, byte_cnt) == 44 && offsetof(mlx5_cqe64, sop_drop_qpn) == 56 &&
                  offsetof(mlx5_cqe64, wqe_counter) == 60 && offsetof(mlx5_cqe64, op_own) == 63);
}
#endif

TEST(Mlx5Completions, AreReadByLap) {
    std::array<std::byte, 4 * block_bytes> memory{};
    for (std::size_t i = 0; i < 4; ++i) memory[i * block_bytes + 63] = std::byte{0xf0};
    CompletionQueue queue;
    queue.memory = memory.data();
    queue.entries = 4;
    const auto write = [&](std::size_t at, unsigned opcode, unsigned owner) {
        memory[at * block_bytes + 63] = static_cast<std::byte>(opcode << 4 | owner);
    };
    EXPECT_FALSE(completion(queue, 0));
    write(0, 2, 0);
    memory[47] = std::byte{5};
    ASSERT_TRUE(completion(queue, 0));
    EXPECT_TRUE(completion(queue, 0)->received);
    EXPECT_EQ(completion(queue, 0)->bytes, 5U);
    EXPECT_FALSE(completion(queue, 4));  // the next lap has the other owner
    write(0, 0, 1);
    EXPECT_TRUE(completion(queue, 4));
    EXPECT_FALSE(completion(queue, 0));
    // The 24-bit count wraps in the middle of nothing: an even number of laps.
    EXPECT_TRUE(completion(queue, 0x1000004));
    write(1, 13, 0);
    memory[block_bytes + 55] = std::byte{0x15};
    ASSERT_TRUE(completion(queue, 1));
    EXPECT_TRUE(completion(queue, 1)->error);
    EXPECT_EQ(syndrome_in_words(completion(queue, 1)->syndrome), "the peer does not answer");
}

}  // namespace
}  // namespace lapwing::mlx5
