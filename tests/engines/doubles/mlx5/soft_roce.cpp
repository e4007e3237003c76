#include "engines/doubles/mlx5/soft_roce.hpp"

#include "base/error.hpp"

#if __has_include(<infiniband/verbs.h>)

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "engines/doubles/mlx5/card_state.hpp"

namespace lapwing::mlx5_double {
namespace {

constexpr std::uint8_t port = 1;
constexpr int max_completions = 4096;
constexpr std::uint32_t inline_bytes = 64;

// libibverbs, found at run time. Its macros are not these names.
struct Library {
    decltype(&::ibv_get_device_list) get_devices;
    decltype(&::ibv_free_device_list) free_devices;
    decltype(&::ibv_open_device) open_device;
    decltype(&::ibv_close_device) close_device;
    decltype(&::ibv_alloc_pd) alloc_pd;
    decltype(&::ibv_dealloc_pd) dealloc_pd;
    decltype(&::ibv_create_cq) create_cq;
    decltype(&::ibv_destroy_cq) destroy_cq;
    decltype(&::ibv_create_qp) create_qp;
    decltype(&::ibv_modify_qp) modify_qp;
    decltype(&::ibv_destroy_qp) destroy_qp;
    ibv_mr* (*register_memory)(ibv_pd*, void*, std::size_t, int);
    decltype(&::ibv_dereg_mr) deregister;
    decltype(&::ibv_query_gid) query_gid;
};

const Library& library() {
    static const Library loaded = [] {
        void* const handle = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) throw Error(ErrorCode::unsupported, ::dlerror());
        Library all{};
        const auto find = [&](const char* symbol, auto& function) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, symbol));
            if (function == nullptr) throw Error(ErrorCode::unsupported, fmt::format("no {}", symbol));
        };
        find("ibv_get_device_list", all.get_devices);
        find("ibv_free_device_list", all.free_devices);
        find("ibv_open_device", all.open_device);
        find("ibv_close_device", all.close_device);
        find("ibv_alloc_pd", all.alloc_pd);
        find("ibv_dealloc_pd", all.dealloc_pd);
        find("ibv_create_cq", all.create_cq);
        find("ibv_destroy_cq", all.destroy_cq);
        find("ibv_create_qp", all.create_qp);
        find("ibv_modify_qp", all.modify_qp);
        find("ibv_destroy_qp", all.destroy_qp);
        find("ibv_reg_mr", all.register_memory);
        find("ibv_dereg_mr", all.deregister);
        find("ibv_query_gid", all.query_gid);
        return all;
    }();
    return loaded;
}

template <typename Object>
Object* made(Object* object, const char* what) {
    if (object == nullptr) throw Error(ErrorCode::system, fmt::format("{}: {}", what, std::strerror(errno)));
    return object;
}
void check(int result, const char* what) {
    if (result != 0) throw Error(ErrorCode::system, fmt::format("{}: {}", what, std::strerror(result)));
}

std::uint8_t syndrome_of(ibv_wc_status status) {
    switch (status) {
        case IBV_WC_SUCCESS:
            return 0;
        case IBV_WC_LOC_LEN_ERR:
            return local_length;
        case IBV_WC_LOC_PROT_ERR:
            return local_protection;
        case IBV_WC_WR_FLUSH_ERR:
            return flushed;
        case IBV_WC_REM_INV_REQ_ERR:
            return remote_invalid;
        case IBV_WC_REM_ACCESS_ERR:
            return remote_denied;
        case IBV_WC_REM_OP_ERR:
            return remote_operation;
        case IBV_WC_RETRY_EXC_ERR:
        case IBV_WC_RNR_RETRY_EXC_ERR:
            return retries_exceeded;
        default:
            return local_operation;
    }
}

class SoftRoce final : public Wire {
  public:
    SoftRoce() {
        int count = 0;
        ibv_device** const devices = library().get_devices(&count);
        if (devices == nullptr || count == 0)
            throw Error(ErrorCode::unsupported, "libibverbs finds no device");
        context_ = library().open_device(devices[0]);
        library().free_devices(devices);
        made(context_, "ibv_open_device");
        domain_ = made(library().alloc_pd(context_), "ibv_alloc_pd");
        completions_ =
            made(library().create_cq(context_, max_completions, nullptr, nullptr, 0), "ibv_create_cq");
        find_address();
    }
    ~SoftRoce() override {
        for (const auto& [number, pair] : pairs_) library().destroy_qp(pair);
        for (const auto& [key, memory] : memory_) library().deregister(memory);
        library().destroy_cq(completions_);
        library().dealloc_pd(domain_);
        library().close_device(context_);
    }
    SoftRoce(const SoftRoce&) = delete;
    SoftRoce& operator=(const SoftRoce&) = delete;

    std::uint32_t add_pair() override {
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = completions_;
        wanted.qp_type = IBV_QPT_RC;
        wanted.cap.max_send_wr = wanted.cap.max_recv_wr = max_messages;
        wanted.cap.max_send_sge = 4;
        wanted.cap.max_recv_sge = 1;
        wanted.cap.max_inline_data = inline_bytes;
        ibv_qp* const pair = made(library().create_qp(domain_, &wanted), "ibv_create_qp");
        pairs_.emplace(pair->qp_num, pair);
        ibv_qp_attr next{};
        next.qp_state = IBV_QPS_INIT;
        next.port_num = port;
        next.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        check(library().modify_qp(pair, &next,
                                  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
              "ibv_modify_qp to INIT");
        return pair->qp_num;
    }

    void connect(std::uint32_t pair, std::uint32_t peers_pair) override {
        ibv_qp_attr next{};
        next.qp_state = IBV_QPS_RTR;
        next.path_mtu = IBV_MTU_1024;
        next.dest_qp_num = peers_pair;
        next.max_dest_rd_atomic = 1;
        next.min_rnr_timer = 1;
        next.ah_attr.is_global = 1;
        next.ah_attr.grh.dgid = address_;
        next.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(address_index_);
        next.ah_attr.grh.hop_limit = 64;
        next.ah_attr.port_num = port;
        check(library().modify_qp(pairs_.at(pair), &next,
                                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
              "ibv_modify_qp to RTR");
        next = {};
        next.qp_state = IBV_QPS_RTS;
        next.timeout = 16;
        next.retry_cnt = 7;
        next.rnr_retry = 7;  // without limit
        next.max_rd_atomic = 1;
        check(library().modify_qp(pairs_.at(pair), &next,
                                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
              "ibv_modify_qp to RTS");
    }

    void fail(std::uint32_t pair) override {
        ibv_qp_attr next{};
        next.qp_state = IBV_QPS_ERR;
        library().modify_qp(pairs_.at(pair), &next, IBV_QP_STATE);
    }

    void remove_pair(std::uint32_t pair) override {
        library().destroy_qp(pairs_.at(pair));
        pairs_.erase(pair);
    }

    Keys add_memory(void* memory, std::size_t bytes) override {
        constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
        ibv_mr* const registered =
            made(library().register_memory(domain_, memory, bytes, access), "ibv_reg_mr");
        memory_.emplace(registered->lkey, registered);
        return {registered->lkey, registered->rkey};
    }

    void remove_memory(std::uint32_t local_key) override {
        const auto found = memory_.find(local_key);
        if (found == memory_.end()) return;
        library().deregister(found->second);
        memory_.erase(found);
    }

    void send(std::uint32_t pair, const Request& request, std::uint64_t id) override {
        std::vector<ibv_sge> pieces;
        for (const Span& span : request.spans) pieces.push_back({span.address, span.bytes, span.key});
        ibv_send_wr wanted{};
        wanted.wr_id = id << 1;
        wanted.send_flags = IBV_SEND_SIGNALED;
        if (!request.inline_data.empty()) {
            pieces.push_back({reinterpret_cast<std::uintptr_t>(request.inline_data.data()),
                              static_cast<std::uint32_t>(request.inline_data.size()), 0});
            wanted.send_flags |= IBV_SEND_INLINE;
        }
        wanted.sg_list = pieces.data();
        wanted.num_sge = static_cast<int>(pieces.size());
        wanted.imm_data = htonl(request.control.immediate);
        wanted.wr.rdma.remote_addr = request.remote_address;
        wanted.wr.rdma.rkey = request.remote_key;
        switch (request.control.opcode) {
            case mlx5_double::send:
                wanted.opcode = IBV_WR_SEND;
                break;
            case send_immediate:
                wanted.opcode = IBV_WR_SEND_WITH_IMM;
                break;
            case rdma_write:
                wanted.opcode = IBV_WR_RDMA_WRITE;
                break;
            default:
                wanted.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        }
        ibv_send_wr* refused = nullptr;
        check(::ibv_post_send(pairs_.at(pair), &wanted, &refused), "ibv_post_send");
    }

    void receive(std::uint32_t pair, const Span& span, std::uint64_t id) override {
        ibv_sge piece{span.address, span.bytes, span.key};
        const bool empty = span.key == end_of_receive;
        ibv_recv_wr wanted{};
        wanted.wr_id = id << 1 | 1;
        wanted.sg_list = &piece;
        wanted.num_sge = empty ? 0 : 1;
        ibv_recv_wr* refused = nullptr;
        check(::ibv_post_recv(pairs_.at(pair), &wanted, &refused), "ibv_post_recv");
    }

    std::optional<Done> next() override {
        ibv_wc found{};
        const int count = ::ibv_poll_cq(completions_, 1, &found);
        if (count < 0) throw Error(ErrorCode::system, "ibv_poll_cq");
        if (count == 0) return std::nullopt;
        Done done;
        done.pair = found.qp_num;
        done.received = (found.wr_id & 1) != 0;
        done.id = found.wr_id >> 1;
        done.syndrome = syndrome_of(found.status);
        const bool immediate = (found.wc_flags & IBV_WC_WITH_IMM) != 0;
        done.opcode = found.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? rdma_write_immediate
                      : immediate                               ? send_immediate
                                                                : mlx5_double::send;
        done.bytes = found.byte_len;
        if (immediate) done.immediate = ntohl(found.imm_data);
        return done;
    }

  private:
    // RoCE version 2 over IPv4: an address of the form ::ffff:a.b.c.d.
    void find_address() {
        for (int index = 0; index < 16; ++index) {
            ibv_gid one{};
            if (library().query_gid(context_, port, index, &one) != 0) break;
            static constexpr std::uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
            if (std::memcmp(one.raw, prefix, sizeof prefix) != 0) continue;
            address_ = one;
            address_index_ = index;
            return;
        }
        throw Error(ErrorCode::unsupported, "the device has no address of IPv4");
    }

    ibv_context* context_ = nullptr;
    ibv_pd* domain_ = nullptr;
    ibv_cq* completions_ = nullptr;
    ibv_gid address_{};
    int address_index_ = 0;
    std::map<std::uint32_t, ibv_qp*> pairs_;
    std::map<std::uint32_t, ibv_mr*> memory_;
};

}  // namespace

std::unique_ptr<Wire> open_soft_roce() {
    return std::make_unique<SoftRoce>();
}

}  // namespace lapwing::mlx5_double

#else

namespace lapwing::mlx5_double {

std::unique_ptr<Wire> open_soft_roce() {
    throw Error(ErrorCode::unsupported, "it was built without the headers of libibverbs");
}

}  // namespace lapwing::mlx5_double

#endif
