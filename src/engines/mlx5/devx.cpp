// Completion queues, memory and the protection domain come from libibverbs; queue pairs from the card's own
// commands, because libibverbs makes none that are master or managed. After DPDK's mlx5_devx_cmds.c (queue
// pairs, and the positions of fields, mlx5_prm.h) and UCX's rc_mlx5_devx.c and ib_mlx5_dv.c (the path to
// another host).
#include "engines/mlx5/devx.hpp"

#if __has_include(<infiniband/mlx5dv.h>)

#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/error.hpp"
#include "links/rdma_devices.hpp"

namespace lapwing::mlx5 {
namespace {

void* load(const char* soname) {
    void* handle = ::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    const char* reason = ::dlerror();
    throw Error(ErrorCode::unsupported, reason == nullptr ? soname : reason);
}

// A function of a library, which becomes a pointer of whatever type it is assigned to.
struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
        return reinterpret_cast<Function*>(address);
    }
};

Symbol symbol(void* handle, const char* name) {
    void* const address = ::dlsym(handle, name);
    if (address == nullptr)
        throw Error(ErrorCode::unsupported, fmt::format("rdma-core lacks the function {}", name));
    return {address};
}

// Functions of rdma-core, which is loaded when a card is opened.
struct Library {
    void* verbs = load("libibverbs.so.1");
    void* mlx5 = load("libmlx5.so.1");

    decltype(&::ibv_get_device_list) get_device_list = symbol(verbs, "ibv_get_device_list");
    decltype(&::ibv_free_device_list) free_device_list = symbol(verbs, "ibv_free_device_list");
    decltype(&::ibv_get_device_name) get_device_name = symbol(verbs, "ibv_get_device_name");
    decltype(&::ibv_close_device) close_device = symbol(verbs, "ibv_close_device");
    decltype(&::ibv_alloc_pd) alloc_pd = symbol(verbs, "ibv_alloc_pd");
    decltype(&::ibv_dealloc_pd) dealloc_pd = symbol(verbs, "ibv_dealloc_pd");
    decltype(&::ibv_destroy_cq) destroy_cq = symbol(verbs, "ibv_destroy_cq");
    decltype(&::ibv_create_comp_channel) create_comp_channel = symbol(verbs, "ibv_create_comp_channel");
    decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = symbol(verbs, "ibv_destroy_comp_channel");
    decltype(&::ibv_get_cq_event) get_cq_event = symbol(verbs, "ibv_get_cq_event");
    decltype(&::ibv_ack_cq_events) ack_cq_events = symbol(verbs, "ibv_ack_cq_events");
    decltype(&::ibv_dereg_mr) dereg_mr = symbol(verbs, "ibv_dereg_mr");
    decltype(&::ibv_create_ah) create_ah = symbol(verbs, "ibv_create_ah");
    decltype(&::ibv_destroy_ah) destroy_ah = symbol(verbs, "ibv_destroy_ah");
    ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int) = symbol(verbs, "ibv_reg_mr");
    int (*query_port)(ibv_context*, std::uint8_t, void*) = symbol(verbs, "ibv_query_port");
    int (*query_gid)(ibv_context*, std::uint8_t, int, ibv_gid*) = symbol(verbs, "ibv_query_gid");
    int (*query_gid_ex)(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t,
                        std::size_t) = symbol(verbs, "_ibv_query_gid_ex");

    decltype(&::mlx5dv_is_supported) is_supported = symbol(mlx5, "mlx5dv_is_supported");
    decltype(&::mlx5dv_open_device) open_device = symbol(mlx5, "mlx5dv_open_device");
    decltype(&::mlx5dv_init_obj) init_obj = symbol(mlx5, "mlx5dv_init_obj");
    decltype(&::mlx5dv_devx_general_cmd) general_command = symbol(mlx5, "mlx5dv_devx_general_cmd");
    decltype(&::mlx5dv_devx_obj_create) obj_create = symbol(mlx5, "mlx5dv_devx_obj_create");
    decltype(&::mlx5dv_devx_obj_modify) obj_modify = symbol(mlx5, "mlx5dv_devx_obj_modify");
    decltype(&::mlx5dv_devx_obj_destroy) obj_destroy = symbol(mlx5, "mlx5dv_devx_obj_destroy");
    decltype(&::mlx5dv_devx_umem_reg) umem_reg = symbol(mlx5, "mlx5dv_devx_umem_reg");
    decltype(&::mlx5dv_devx_umem_dereg) umem_dereg = symbol(mlx5, "mlx5dv_devx_umem_dereg");
    decltype(&::mlx5dv_devx_alloc_uar) alloc_uar = symbol(mlx5, "mlx5dv_devx_alloc_uar");
    decltype(&::mlx5dv_devx_free_uar) free_uar = symbol(mlx5, "mlx5dv_devx_free_uar");
};

// Throws Error (unsupported) if rdma-core is not installed, or lacks a function.
const Library& library() {
    static const Library loaded;
    return loaded;
}

// Commands of a card and the offsets of their fields, after DPDK's mlx5_prm.h.
namespace command {

// A field of a command: offset and length in bits (mlx5_prm.h).
struct Bits {
    std::uint32_t at;
    std::uint32_t width;
    constexpr Bits in(std::uint32_t structure) const { return {structure + at, width}; }
};

void set_bits(unsigned char* data, Bits field, std::uint64_t value) {
    for (std::uint32_t bit = 0; bit < field.width; ++bit) {
        const std::uint32_t at = field.at + field.width - 1 - bit;
        const unsigned mask = 0x80U >> at % 8;
        const unsigned byte = data[at / 8];
        data[at / 8] = static_cast<unsigned char>((value >> bit & 1) != 0 ? byte | mask : byte & ~mask);
    }
}

std::uint64_t get_bits(const unsigned char* data, Bits field) {
    std::uint64_t value = 0;
    for (std::uint32_t at = field.at; at < field.at + field.width; ++at)
        value = value << 1 | (data[at / 8] >> (7 - at % 8) & 1U);
    return value;
}

// A command or its answer.
template <std::size_t bytes>
class Command {
  public:
    void set(Bits field, std::uint64_t value) { set_bits(data(), field, value); }
    std::uint64_t get(Bits field) const { return get_bits(data(), field); }
    unsigned char* data() { return data_.data(); }
    const unsigned char* data() const { return data_.data(); }
    static constexpr std::size_t size() { return bytes; }

  private:
    std::array<unsigned char, bytes> data_{};
};

constexpr Bits opcode{0x0, 16}, op_mod{0x30, 16}, number{0x48, 24}, status_syndrome{0x20, 32};
constexpr std::uint32_t query_hca_cap = 0x100, create_qp = 0x500, rst2init = 0x502, init2rtr = 0x503,
                        rtr2rts = 0x504;
// In QUERY_HCA_CAP's answer, after its header.
constexpr std::uint32_t capability = 0x80;
constexpr Bits cap_log_max_qp_sz{0x88, 8}, cap_log_max_cq_sz{0xc8, 8}, cap_log_max_msg{0x1c3, 5},
    cap_cd{0x22c, 1};
// The context of a queue pair, in all its commands.
constexpr std::uint32_t context = 0xc0;
constexpr Bits st{0x8, 8}, pm_state{0x13, 2}, pd{0x28, 24}, mtu{0x40, 3}, log_msg_max{0x43, 5},
    log_rq_size{0x49, 4}, log_rq_stride{0x4d, 3}, log_sq_size{0x51, 4}, uar_page{0x68, 24},
    remote_qpn{0xa8, 24}, log_sra_max{0x388, 3}, retry_count{0x38d, 3}, rnr_retry{0x390, 3},
    next_send_psn{0x3c8, 24}, cqn_snd{0x3e8, 24}, log_rra_max{0x488, 3}, rre{0x490, 1}, rwe{0x491, 1},
    cd_slave_send{0x49e, 1}, cd_master{0x49f, 1}, min_rnr_nak{0x4a3, 5}, next_rcv_psn{0x4a8, 24},
    cqn_rcv{0x4e8, 24}, dbr_addr{0x500, 64}, rq_type{0x565, 3}, dbr_umem_valid{0x683, 1},
    dbr_umem_id{0x720, 32};
// The path to the peer, in the context.
constexpr std::uint32_t path = context + 0xc0;
constexpr Bits path_fl{0x0, 1}, path_grh{0x28, 1}, path_rlid{0x30, 16}, path_ack_timeout{0x40, 5},
    path_src_addr_index{0x48, 8}, path_hop_limit{0x58, 8}, path_udp_sport{0x110, 16}, path_port{0x128, 8},
    path_rmac{0x130, 48};
constexpr std::uint32_t path_rgid = 0x80;
// After the context of CREATE_QP.
constexpr Bits wq_umem_offset{0x800, 64}, wq_umem_id{0x840, 32}, wq_umem_valid{0x860, 1};
constexpr std::size_t create_bytes = 0x880 / 8, modify_bytes = 0x880 / 8, answer_bytes = 0x80 / 8;

}  // namespace command

using namespace command;

constexpr std::uint64_t reliable = 0, migrated = 3, no_receives = 3;
constexpr std::uint8_t port = 1;
constexpr std::size_t page = 4096;

std::uint32_t power_of_two(std::uint32_t entries, std::uint32_t min) {
    return std::bit_ceil(std::max(entries, min));
}

// The contents of Address::location.
struct Location {
    ibv_gid gid;
    std::uint16_t lid;
    std::uint8_t ethernet;
    std::uint8_t mtu;
};

class Devx final : public Device {
  public:
    Devx(ibv_device* device, const std::string& name) : name_(name) {
        mlx5dv_context_attr attributes{};
        attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
        context_ = verbs_.open_device(device, &attributes);
        if (context_ == nullptr) throw_system("the card refuses DevX");
        try {
            open();
        } catch (...) {
            close();
            throw;
        }
    }
    ~Devx() override { close(); }

    const char* name() const override { return name_.c_str(); }
    Capabilities capabilities() const override { return capabilities_; }

    CompletionQueue create_completion_queue(const CompletionQueueOptions& options) override {
        ibv_cq_init_attr_ex attributes{};
        attributes.cqe = power_of_two(options.entries, 64) - 1;  // mlx5 adds one and rounds up
        attributes.channel = options.events ? channel_ : nullptr;
        attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
        attributes.flags = options.ignore_overrun ? IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN : 0;
        ibv_cq_ex* const extended = ::ibv_create_cq_ex(context_, &attributes);
        if (extended == nullptr) throw_system("cannot create a completion queue");
        ibv_cq* const made = ::ibv_cq_ex_to_cq(extended);
        mlx5dv_cq inside{};
        mlx5dv_obj object{};
        object.cq.in = made;
        object.cq.out = &inside;
        if (verbs_.init_obj(&object, MLX5DV_OBJ_CQ) != 0 || inside.cqe_size != block_bytes) {
            verbs_.destroy_cq(made);
            throw Error(ErrorCode::unsupported, "entries of completion queues are not 64 bytes long");
        }
        CompletionQueue queue;
        queue.memory = static_cast<std::byte*>(inside.buf);
        queue.entries = inside.cqe_cnt;
        queue.number = inside.cqn;
        queue.record = inside.dbrec;
        queue.ignore_overrun = options.ignore_overrun;
        completions_[queue.number] = {made, static_cast<std::byte*>(inside.cq_uar), 0};
        return queue;
    }

    QueuePair create_queue_pair(const QueuePairOptions& options) override {
        QueuePair pair;
        pair.send_blocks = power_of_two(options.send_blocks, 4);
        pair.receive_entries = options.receive_entries == 0 ? 0 : power_of_two(options.receive_entries, 4);
        pair.send_completions = options.send_completions->number;
        pair.receive_completions = options.receive_completions->number;
        pair.role = options.role;
        // Receives, sends from a block on, and the doorbell record in a line of its own.
        const std::size_t receives =
            (std::size_t{pair.receive_entries} * receive_bytes + block_bytes - 1) / block_bytes * block_bytes;
        const std::size_t record = receives + std::size_t{pair.send_blocks} * block_bytes;
        const std::size_t bytes = (record + block_bytes + page - 1) / page * page;
        Pair made;
        made.memory.reset(static_cast<std::byte*>(std::aligned_alloc(page, bytes)));
        if (made.memory == nullptr) throw_system("cannot allocate memory for a queue pair");
        std::memset(made.memory.get(), 0, bytes);
        made.registered = verbs_.umem_reg(context_, made.memory.get(), bytes, IBV_ACCESS_LOCAL_WRITE);
        if (made.registered == nullptr) throw_system("the memory of a queue pair cannot be registered");

        Command<create_bytes> in;
        Command<answer_bytes> out;
        in.set(opcode, create_qp);
        in.set(st.in(context), reliable);
        in.set(pm_state.in(context), migrated);
        in.set(pd.in(context), domain_number_);
        in.set(uar_page.in(context), uar_->page_id);
        in.set(cqn_snd.in(context), pair.send_completions);
        in.set(cqn_rcv.in(context), pair.receive_completions);
        in.set(log_sq_size.in(context), static_cast<unsigned>(std::countr_zero(pair.send_blocks)));
        if (pair.receive_entries > 0) {
            in.set(log_rq_size.in(context), static_cast<unsigned>(std::countr_zero(pair.receive_entries)));
            in.set(log_rq_stride.in(context), 0);  // 16 bytes
        } else {
            in.set(rq_type.in(context), no_receives);
        }
        in.set(cd_master.in(context), pair.role == Role::master);
        in.set(cd_slave_send.in(context), pair.role == Role::managed);
        in.set(dbr_umem_valid.in(context), 1);
        in.set(dbr_umem_id.in(context), made.registered->umem_id);
        in.set(dbr_addr.in(context), record);
        in.set(wq_umem_offset, 0);
        in.set(wq_umem_id, made.registered->umem_id);
        in.set(wq_umem_valid, 1);
        made.object = verbs_.obj_create(context_, in.data(), in.size(), out.data(), out.size());
        if (made.object == nullptr) {
            verbs_.umem_dereg(made.registered);
            throw Error(ErrorCode::system, fmt::format("cannot create a queue pair: {} (syndrome {:#x})",
                                                       std::strerror(errno), out.get(status_syndrome)));
        }
        pair.number = static_cast<std::uint32_t>(out.get(number));
        pair.receive = pair.receive_entries > 0 ? made.memory.get() : nullptr;
        pair.send = made.memory.get() + receives;
        pair.record = reinterpret_cast<volatile std::uint32_t*>(made.memory.get() + record);
        pair.bell.address = static_cast<volatile std::uint64_t*>(uar_->reg_addr);
        Command<modify_bytes> init;
        init.set(rre.in(context), 1);
        init.set(rwe.in(context), 1);
        init.set(pm_state.in(context), migrated);
        init.set(path_port.in(path), port);
        mlx5dv_devx_obj* const object = made.object;
        pairs_.emplace(pair.number, std::move(made));
        modify(object, pair.number, rst2init, init);
        return pair;
    }

    Address address(const QueuePair& pair) const override {
        static_assert(sizeof(Location) <= sizeof(Address::location));
        Address address;
        address.number = pair.number;
        std::memcpy(address.location.data(), &location_, sizeof location_);
        return address;
    }

    void connect(const QueuePair& pair, const Address& peer) override {
        Location there{};
        std::memcpy(&there, peer.location.data(), sizeof there);
        mlx5dv_devx_obj* const object = pairs_.at(pair.number).object;
        Command<modify_bytes> receive;
        receive.set(mtu.in(context), std::min(location_.mtu, there.mtu));
        receive.set(log_msg_max.in(context), 30);
        receive.set(remote_qpn.in(context), peer.number);
        receive.set(next_rcv_psn.in(context), 0);
        receive.set(log_rra_max.in(context), 0);
        receive.set(min_rnr_nak.in(context), 1);  // 10 microseconds
        set_path(receive, there, peer.number == pair.number);
        modify(object, pair.number, init2rtr, receive);
        Command<modify_bytes> send;
        send.set(retry_count.in(context), 7);
        send.set(rnr_retry.in(context), 7);  // without limit: the receiver may start much later
        send.set(next_send_psn.in(context), 0);
        send.set(log_sra_max.in(context), 0);
        send.set(path_ack_timeout.in(path), 16);
        modify(object, pair.number, rtr2rts, send);
    }

    void destroy(const QueuePair& pair) override {
        const auto found = pairs_.find(pair.number);
        if (found == pairs_.end()) return;
        verbs_.obj_destroy(found->second.object);
        verbs_.umem_dereg(found->second.registered);
        pairs_.erase(found);
    }
    void destroy(const CompletionQueue& queue) override {
        const auto found = completions_.find(queue.number);
        if (found == completions_.end()) return;
        clear_events();  // all events of a queue must be acknowledged before
        verbs_.destroy_cq(found->second.queue);
        completions_.erase(found);
    }

    MemoryKey register_memory(void* memory, std::size_t bytes) override {
        ibv_mr* const region =
            verbs_.reg_mr(domain_, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        if (region == nullptr) throw_system("memory cannot be registered; see `ulimit -l`");
        regions_[region->lkey] = region;
        return {region->lkey, region->rkey};
    }
    void deregister(const MemoryKey& key) override {
        const auto found = regions_.find(key.local);
        if (found == regions_.end()) return;
        verbs_.dereg_mr(found->second);
        regions_.erase(found);
    }

    // As mlx5_arm_cq() of rdma-core, which would use its own consumer index.
    void arm(const CompletionQueue& queue, std::uint32_t consumed) override {
        constexpr std::size_t bell = 0x20;
        const Completions& of = completions_.at(queue.number);
        const std::uint32_t word = (of.events & 3) << 28 | (consumed & 0xffffff);
        queue.record[1] = htobe32(word);
        __sync_synchronize();
        order_stores_for_the_card();
        *reinterpret_cast<volatile std::uint64_t*>(of.uar + bell) =
            htobe64(std::uint64_t{word} << 32 | queue.number);
    }
    int event_descriptor() const override { return channel_->fd; }
    void clear_events() override {
        ibv_cq* queue = nullptr;
        void* ours = nullptr;
        while (verbs_.get_cq_event(channel_, &queue, &ours) == 0) {
            verbs_.ack_cq_events(queue, 1);
            for (auto& [at, completions] : completions_) {
                if (completions.queue == queue) ++completions.events;
            }
        }
    }

  private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    struct Pair {
        std::unique_ptr<std::byte, Free> memory;
        mlx5dv_devx_umem* registered = nullptr;
        mlx5dv_devx_obj* object = nullptr;
    };
    struct Completions {
        ibv_cq* queue = nullptr;
        std::byte* uar = nullptr;
        std::uint32_t events = 0;  // acknowledged; arm() needs the number
    };

    void open() {
        domain_ = verbs_.alloc_pd(context_);
        if (domain_ == nullptr) throw_system("cannot allocate a protection domain");
        mlx5dv_pd inside{};
        mlx5dv_obj object{};
        object.pd.in = domain_;
        object.pd.out = &inside;
        if (verbs_.init_obj(&object, MLX5DV_OBJ_PD) != 0) throw_system("the protection domain has no number");
        domain_number_ = inside.pdn;
        // Stores into this kind of register go to the card at once.
        uar_ = verbs_.alloc_uar(context_, MLX5DV_UAR_ALLOC_TYPE_NC);
        if (uar_ == nullptr) throw_system("cannot allocate a doorbell register");
        channel_ = verbs_.create_comp_channel(context_);
        if (channel_ == nullptr) throw_system("cannot create a completion channel");
        ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
        find_location();
        find_capabilities();
    }

    void close() {
        while (!pairs_.empty()) {
            QueuePair pair;
            pair.number = pairs_.begin()->first;
            destroy(pair);
        }
        while (!completions_.empty()) {
            CompletionQueue queue;
            queue.number = completions_.begin()->first;
            destroy(queue);
        }
        for (const auto& [key, region] : regions_) verbs_.dereg_mr(region);
        if (channel_ != nullptr) verbs_.destroy_comp_channel(channel_);
        if (uar_ != nullptr) verbs_.free_uar(uar_);
        if (domain_ != nullptr) verbs_.dealloc_pd(domain_);
        verbs_.close_device(context_);
    }

    void find_location() {
        ibv_port_attr attributes{};
        if (verbs_.query_port(context_, port, &attributes) != 0)
            throw_system("the card does not report the state of its port");
        if (attributes.state != IBV_PORT_ACTIVE)
            throw Error(ErrorCode::unsupported, fmt::format("port 1 of {} is not active", name_));
        location_.lid = attributes.lid;
        location_.mtu = static_cast<std::uint8_t>(attributes.active_mtu);
        location_.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
        gid_index_ = 0;
        if (location_.ethernet != 0) {
            // RoCE v2 goes through routers; the last one is usually that of an IPv4 address.
            for (int index = 0; index < attributes.gid_tbl_len; ++index) {
                ibv_gid_entry entry{};
                if (verbs_.query_gid_ex(context_, port, static_cast<std::uint32_t>(index), &entry, 0,
                                        sizeof entry) == 0 &&
                    entry.gid_type == IBV_GID_TYPE_ROCE_V2)
                    gid_index_ = index;
            }
        }
        if (verbs_.query_gid(context_, port, gid_index_, &location_.gid) != 0)
            throw_system("the port has no GID");
    }

    void find_capabilities() {
        Command<16> in;
        auto out = std::make_unique<Command<16 + 4096>>();
        in.set(opcode, query_hca_cap);
        in.set(op_mod, 1);  // general capabilities, as they are now
        if (verbs_.general_command(context_, in.data(), in.size(), out->data(), out->size()) != 0)
            throw_system("the card does not report its capabilities");
        capabilities_.cross_channel =
            out->get(cap_cd.in(capability)) != 0
                ? Verdict::yes()
                : Verdict::no("the card has no cross-channel queues (HCA capability cd)");
        // Only a trial shows that: see the probe.
        capabilities_.wait_in_plain = Verdict::yes();
        const auto max = [&](Bits log) {
            return std::uint32_t{1} << std::min<std::uint64_t>(out->get(log.in(capability)), 24);
        };
        capabilities_.max_send_blocks = capabilities_.max_receive_entries =
            std::min<std::uint32_t>(max(cap_log_max_qp_sz), 1U << 15);
        capabilities_.max_completions = std::min<std::uint32_t>(max(cap_log_max_cq_sz), 1U << 22);
        capabilities_.max_message = std::uint64_t{1} << out->get(cap_log_max_msg.in(capability));
    }

    void set_path(Command<modify_bytes>& in, const Location& there, bool to_itself) {
        in.set(path_port.in(path), port);
        if (to_itself) {
            in.set(path_fl.in(path), 1);  // the card's own loop-back
            return;
        }
        if (location_.ethernet == 0) {
            in.set(path_rlid.in(path), there.lid);
            if (std::memcmp(&location_.gid, &there.gid, 8) == 0) return;  // the same subnet
        } else {
            set_ethernet_path(in, there);
        }
        in.set(path_grh.in(path), 1);
        in.set(path_src_addr_index.in(path), static_cast<unsigned>(gid_index_));
        in.set(path_hop_limit.in(path), 64);
        for (std::uint32_t i = 0; i < 16; ++i) in.set(Bits{path_rgid + i * 8, 8}.in(path), there.gid.raw[i]);
    }

    // The kernel resolves the hardware address of the next hop.
    void set_ethernet_path(Command<modify_bytes>& in, const Location& there) {
        ibv_ah_attr attributes{};
        attributes.is_global = 1;
        attributes.port_num = port;
        attributes.grh.dgid = there.gid;
        attributes.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
        attributes.grh.hop_limit = 64;
        ibv_ah* const handle = verbs_.create_ah(domain_, &attributes);
        if (handle == nullptr) throw_system("the peer's hardware address is not known");
        mlx5dv_ah inside{};
        mlx5dv_obj object{};
        object.ah.in = handle;
        object.ah.out = &inside;
        const bool known = verbs_.init_obj(&object, MLX5DV_OBJ_AH) == 0;
        if (known) {
            std::uint64_t mac = 0;
            for (const std::uint8_t byte : inside.av->rmac) mac = mac << 8 | byte;
            in.set(path_rmac.in(path), mac);
            in.set(path_udp_sport.in(path), be16toh(inside.av->rlid));
        }
        verbs_.destroy_ah(handle);
        if (!known) throw_system("libmlx5 does not report the peer's hardware address");
    }

    void modify(mlx5dv_devx_obj* object, std::uint32_t pair, std::uint32_t operation,
                Command<modify_bytes>& in) {
        Command<answer_bytes> out;
        in.set(opcode, operation);
        in.set(number, pair);
        if (verbs_.obj_modify(object, in.data(), in.size(), out.data(), out.size()) != 0)
            throw Error(ErrorCode::system,
                        fmt::format("cannot connect a queue pair: {} (command "
                                    "{:#x}, syndrome {:#x})",
                                    std::strerror(errno), operation, out.get(status_syndrome)));
    }

    const Library& verbs_ = library();
    const std::string name_;
    ibv_context* context_ = nullptr;
    ibv_pd* domain_ = nullptr;
    std::uint32_t domain_number_ = 0;
    mlx5dv_devx_uar* uar_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    Capabilities capabilities_;
    Location location_{};
    int gid_index_ = 0;
    std::map<std::uint32_t, Pair> pairs_;
    std::map<std::uint32_t, Completions> completions_;
    std::map<std::uint32_t, ibv_mr*> regions_;
};

}  // namespace

Verdict devx_available() {
    static const std::string why = []() -> std::string {
        const auto devices = infiniband_devices();
        if (std::none_of(devices.begin(), devices.end(),
                         [](const std::string& name) { return name.starts_with("mlx5_"); }))
            return "this host has no ConnectX card";
        try {
            open_devx();
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    }();
    return why.empty() ? Verdict::yes() : Verdict::no(why.c_str());
}

std::unique_ptr<Device> open_devx(const std::string& name) {
    const Library& verbs = library();
    int count = 0;
    ibv_device** const devices = verbs.get_device_list(&count);
    if (devices == nullptr) throw_system("libibverbs lists no devices");
    const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(devices, verbs.free_device_list);
    std::string why = "this host has no ConnectX card";
    for (int at = 0; at < count; ++at) {
        const std::string found = verbs.get_device_name(devices[at]);
        if ((!name.empty() && found != name) || !verbs.is_supported(devices[at])) continue;
        try {
            return std::make_unique<Devx>(devices[at], found);
        } catch (const Error& error) {
            why = fmt::format("{}: {}", found, error.what());
        }
    }
    throw Error(ErrorCode::unsupported, why);
}

}  // namespace lapwing::mlx5

#else

#include "base/error.hpp"

namespace lapwing::mlx5 {

constexpr const char* not_built = "this Lapwing was built without the headers of rdma-core";

Verdict devx_available() {
    return Verdict::no(not_built);
}

std::unique_ptr<Device> open_devx(const std::string&) {
    throw Error(ErrorCode::unsupported, not_built);
}

}  // namespace lapwing::mlx5

#endif
