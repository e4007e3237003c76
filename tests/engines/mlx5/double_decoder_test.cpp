// Golden bytes of the double's decoder: entries as two public programs or headers each would write them.
#include <gmock/gmock.h>

#include <string_view>

#include "engines/mlx5/double.hpp"

namespace lapwing::mlx5_double {
namespace {

using testing::ElementsAre;

Bytes bytes(std::string_view hex) {
    Bytes read;
    unsigned value = 0;
    int digits = 0;
    for (const char letter : hex) {
        if (letter == ' ') continue;
        value = value << 4 | static_cast<unsigned>(letter <= '9' ? letter - '0' : letter - 'a' + 10);
        if (++digits % 2 == 0) read.push_back(static_cast<std::byte>(value & 0xff));
    }
    return read;
}

Request accepted(std::string_view hex) {
    Request request;
    EXPECT_EQ(read_request(bytes(hex), request), Refusal::none) << hex;
    return request;
}

// Mellanox pcx, dv_mgr.cc cd_wait_signal(): mlx5dv_set_ctrl_seg(ctrl, write_cnt, 0x0f, 0x00, qpn, 8, 2, 0,
// 0), index = cmpl_cnt - 1 and number = cqn in the second segment. DPDK, mlx5_txpp.c
// mlx5_txpp_fill_wqe_rearm_queue(): MLX5_OPCODE_WAIT | index << 8, id << 8 | 2, completion mode
// << 2, qs->max_index, qs->qpn_cqn.
TEST(Mlx5DoubleDecoder, Wait) {
    const Request read = accepted(
        "00 fff3 0f 00abcd 02 00 0000 08 00000000"
        "00000000 00000000 00fffff1 00001234");
    EXPECT_EQ(read.control.opcode, wait);
    EXPECT_EQ(read.control.modifier, 0);
    EXPECT_EQ(read.control.index, 0xfff3);
    EXPECT_EQ(read.control.queue, 0x00abcdu);
    EXPECT_EQ(read.control.segments, 2);
    EXPECT_EQ(read.control.blocks(), 1u);
    EXPECT_TRUE(read.control.signalled());
    EXPECT_EQ(read.max_index, 0xfffff1u);
    EXPECT_EQ(read.object, 0x1234u);
}

// DPDK, mlx5_crypto_gcm.c mlx5_crypto_gcm_build_send_en(): MLX5_OPCODE_SEND_EN | umr_pi << 8, flags of
// MLX5_COMP_ONLY_FIRST_ERR << 2 and MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE (1 << 5), max_index = qp->pi.
// pcx, dv_mgr.cc cd_send_enable(): 0x17, index = slave's write_cnt, number = slave's qpn.
TEST(Mlx5DoubleDecoder, SendEnable) {
    const Request read = accepted(
        "00 0007 17 123456 02 00 0000 24 00000000"
        "00000000 00000000 00000005 0000beef");
    EXPECT_EQ(read.control.opcode, send_enable);
    EXPECT_EQ(read.control.fence, 1);
    EXPECT_EQ(read.control.completion, 1);
    EXPECT_FALSE(read.control.signalled());
    EXPECT_EQ(read.max_index, 5u);
    EXPECT_EQ(read.object, 0xbeefu);
}

// pcx, dv_mgr.cc writeCmpl(): RDMA_WRITE_IMM, flags 8, 3 segments: control, raddr, data.
// Linux, qp.h mlx5_wqe_ctrl_seg, mlx5_wqe_raddr_seg, mlx5_wqe_data_seg; device.h MLX5_OPCODE_RDMA_WRITE_IMM.
TEST(Mlx5DoubleDecoder, WriteWithImmediate) {
    const Request read = accepted(
        "00 0100 09 000042 03 00 0000 08 01020304"
        "00007f0011223344 0000cafe 00000000"
        "00000010 0000beef 00007f0055667788");
    EXPECT_EQ(read.control.opcode, rdma_write_immediate);
    EXPECT_EQ(read.control.immediate, 0x01020304u);
    EXPECT_EQ(read.remote_address, 0x00007f0011223344u);
    EXPECT_EQ(read.remote_key, 0xcafeu);
    ASSERT_EQ(read.spans.size(), 1u);
    EXPECT_EQ(read.spans[0].bytes, 16u);
    EXPECT_EQ(read.spans[0].key, 0xbeefu);
    EXPECT_EQ(read.spans[0].address, 0x00007f0055667788u);
}

// pcx, dv_mgr.cc sendCredit(): SEND_IMM of one segment. Linux, hw/mlx5/qp.c: spans of no bytes are left out.
TEST(Mlx5DoubleDecoder, SendOfNothing) {
    const Request read = accepted("00 0001 0b 000042 01 00 0000 00 00000005");
    EXPECT_EQ(read.bytes, 0u);
    EXPECT_EQ(read.control.immediate, 5u);
    EXPECT_EQ(read.control.blocks(), 1u);
}

// Linux, hw/mlx5/qp.c mlx5_ib_post_send(): a data segment for each span. UCX, rc_mlx5.inl: the same, of 16
// bytes.
TEST(Mlx5DoubleDecoder, SendOfTwoSpans) {
    const Request read = accepted(
        "00 0001 0a 000042 03 00 0000 2a 00000000"
        "00000003 00000111 0000000000001000"
        "00000004 00000222 0000000000002000");
    EXPECT_TRUE(read.control.solicited);
    EXPECT_EQ(read.bytes, 7u);
    EXPECT_EQ(read.spans.size(), 2u);
}

// pcx, dv_mgr.cc nop(): ds = blocks * 4. DPDK, mlx5_txpp.c: NOP of one segment in the clock queue.
TEST(Mlx5DoubleDecoder, NopOfSeveralBlocks) {
    Bytes entry = bytes("00 0001 00 000042 20 00 0000 00 00000000");
    entry.resize(8 * block_bytes, std::byte{0x77});
    Request read;
    EXPECT_EQ(read_request(entry, read), Refusal::none);
    EXPECT_EQ(read.control.blocks(), 8u);
    EXPECT_EQ(accepted("00 0001 00 000042 01 00 0000 08 00000000").control.blocks(), 1u);
}

// Completions. Linux, device.h struct mlx5_cqe64 and mlx5_err_cqe; DPDK, mlx5_prm.h struct mlx5_cqe and
// mlx5_error_cqe: both have byte_cnt at 44, sop_drop_qpn (of an error: s_wqe_opcode_qpn) at 56, wqe_counter
// at 60, op_own at 63, the syndromes at 54 and 55.
TEST(Mlx5DoubleCompletions, LieAsDriversReadThem) {
    auto network = Network::of_process(1);
    DoubleDevice device(network, {}, Drive::hand);
    Reader sends(device.create_completion_queue({16, false, false}));
    Reader receives(device.create_completion_queue({16, false, false}));
    mlx5::QueuePairOptions options{16, 16, &sends.queue(), &receives.queue(), mlx5::Role::plain};
    Poster loop(device, device.create_queue_pair(options));
    device.connect(loop.pair(), device.address(loop.pair()));
    std::byte memory[40] = {};
    const mlx5::MemoryKey key = device.register_memory(memory, sizeof memory);
    loop.receive(20, key.local, memory + 20);
    loop.send(17, key.local, memory, signalled, send_immediate, 0xa1b2c3d4);
    loop.post();
    for (int round = 0; round < 5000; ++round) device.card().round();
    loop.put(control(loop.index(), 0x3f, loop.number(), 1));
    loop.post();
    for (int round = 0; round < 5000; ++round) device.card().round();
    const auto entry = [](const Reader& of, std::size_t which) {
        return of.queue().memory + which * block_bytes;
    };
    // Index 0xfffff0 in a ring of 16: its first entry, in a lap whose bit is set.
    const std::byte* const sent = entry(sends, 0);
    EXPECT_EQ(read32(sent + 56), 0x0b000000u | loop.number());
    EXPECT_EQ(read16(sent + 60), 0xfff0u);
    EXPECT_EQ(sent[63], std::byte{0x01});
    const std::byte* const received = entry(receives, 0);
    EXPECT_EQ(read32(received + 36), 0xa1b2c3d4u);
    EXPECT_EQ(read32(received + 44), 17u);
    EXPECT_EQ(read32(received + 56) & 0xffffff, loop.number());
    EXPECT_EQ(read16(received + 60), 0xfff0u);
    EXPECT_EQ(received[63], std::byte{0x31});
    const std::byte* const failed = entry(sends, 1);
    EXPECT_EQ(failed[55], std::byte{0x02});
    EXPECT_EQ(failed[54], static_cast<std::byte>(Refusal::unknown_opcode));
    EXPECT_EQ(read32(failed + 56), 0x3f000000u | loop.number());
    EXPECT_EQ(read16(failed + 60), 0xfff1u);
    EXPECT_EQ(failed[63], std::byte{0xd1});
}

}  // namespace
}  // namespace lapwing::mlx5_double
