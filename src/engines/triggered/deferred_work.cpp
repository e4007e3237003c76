#include "engines/triggered/deferred_work.hpp"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "engines/triggered/deferred_rules.hpp"
#include "links/event/thread.hpp"
#include "links/ofi/endpoint.hpp"
#include "links/ofi/library.hpp"
#include "links/ofi/providers.hpp"
#include "links/ofi/registration.hpp"

namespace lapwing {
namespace {

using ofi::check;
using ofi::Open;
using ofi::why;

// For providers that do not report their number of trigger entries.
constexpr std::uint64_t default_entries = 1024;
// Counters in software have no limit.
constexpr std::uint64_t default_counters = 1024;
// Left for works that happen at once.
constexpr std::uint64_t entries_for_immediate_works = 16;
// Slingshot's counters have 48 bits. libfabric's thresholds pass through 32 bits elsewhere.
constexpr std::uint64_t max_counted_by_cards = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t max_counted_elsewhere = UINT32_MAX;

// The table of fi_open_ops(domain, "dom_ops_v6", ...) of cxi, up to the function that is used (fi_cxi_ext.h).
struct CxiDomainOperations {
    int (*cntr_read)(fid*, unsigned, std::uint64_t*, void*);
    int (*topology)(fid*, unsigned, unsigned*, unsigned*, unsigned*);
    int (*enable_hybrid_mr_desc)(fid*, bool);
    std::size_t (*ep_get_unexp_msgs)(fid_ep*, void*, std::size_t, void*, std::size_t*);
    int (*get_dwq_depth)(fid*, std::size_t*);
};

class OfiDeferredWork;

class OfiCounter final : public DeferredWork::Counter {
  public:
    OfiCounter(OfiDeferredWork& owner, Open<fid_cntr> counter)
        : owner_(owner), counter_(std::move(counter)) {}
    ~OfiCounter() override;
    std::uint64_t read() override;
    std::uint64_t ended() override;
    void add(std::uint64_t value) override;
    void set(std::uint64_t value) override;
    fid_cntr* get() const { return counter_.get(); }

  private:
    OfiDeferredWork& owner_;
    Open<fid_cntr> counter_;
};

class OfiRegion final : public DeferredWork::Region {
  public:
    OfiRegion(OfiDeferredWork& owner, Open<fid_mr> region, std::uint64_t address)
        : owner_(owner), region_(std::move(region)), key_(::fi_mr_key(region_.get())), address_(address) {}
    ~OfiRegion() override;
    std::uint64_t key() const override { return key_; }
    std::uint64_t address() const override { return address_; }

  private:
    OfiDeferredWork& owner_;
    Open<fid_mr> region_;
    const std::uint64_t key_;
    const std::uint64_t address_;
};

// libfabric keeps pointers to all members.
struct OfiWork final : public DeferredWork::Work {
    fi_deferred_work work{};
    fi_op_rma rma{};
    fi_op_cntr counter{};
    iovec from{};
    fi_rma_iov to{};
};

class OfiDeferredWork final : public DeferredWork {
  public:
    OfiDeferredWork(ofi::Info info, const DeferredWorkOptions& options)
        : endpoint_(std::make_unique<ofi::Endpoint>(std::move(info), 0, ofi::Completions::counters)) {
        probe();
        entries_ = options.entries != 0 ? options.entries : ask_for_entries(options.sharers);
        counters_ = options.counters != 0 ? options.counters
                    : provider() == "cxi" ? endpoint_->info().domain_attr->cntr_cnt
                                          : default_counters;
    }
    ~OfiDeferredWork() override {
        if (process_ == ::getpid()) {
            endpoint_->close();
        } else {
            // A child of fork shares the network's state with its parent.
            for (auto& counter : kept_counters_) static_cast<void>(counter.release());
            static_cast<void>(endpoint_.release());
        }
    }
    OfiDeferredWork(const OfiDeferredWork&) = delete;
    OfiDeferredWork& operator=(const OfiDeferredWork&) = delete;

    std::string description() const override {
        return fmt::format("{}, {} on {}", ofi::library().name, provider(), endpoint_->device());
    }
    std::uint64_t entries() const override { return entries_; }
    bool reserve(std::uint64_t entries, bool waits) override {
        const std::lock_guard lock(mutex_);
        const std::uint64_t kept = waits ? std::min(entries_ / 4, entries_for_immediate_works) : 0;
        if (reserved_ + entries + kept > entries_) return false;
        reserved_ += entries;
        return true;
    }
    void give_back(std::uint64_t entries) override {
        const std::lock_guard lock(mutex_);
        reserved_ -= entries;
    }
    std::uint64_t counters() const override { return counters_; }
    bool reserve_counters(std::uint64_t counters) override {
        const std::lock_guard lock(mutex_);
        if (reserved_counters_ + counters > counters_) return false;
        reserved_counters_ += counters;
        return true;
    }
    void give_back_counters(std::uint64_t counters) override {
        const std::lock_guard lock(mutex_);
        reserved_counters_ -= counters;
    }
    std::uint64_t max_counted() const override {
        return provider() == "cxi" ? max_counted_by_cards : max_counted_elsewhere;
    }

    std::vector<std::byte> address() const override {
        const auto lock = hold();
        return endpoint_->address();
    }
    std::uint64_t reach(const std::vector<std::byte>& address) override {
        const auto lock = hold();
        const std::string name(reinterpret_cast<const char*>(address.data()), address.size());
        const auto known = peers_.find(name);
        if (known != peers_.end()) return known->second;
        return peers_.emplace(name, endpoint_->insert(address, 1).front()).first->second;
    }

    std::unique_ptr<Counter> make_counter() override {
        const auto lock = hold();
        return std::make_unique<OfiCounter>(*this, open_counter());
    }
    std::unique_ptr<Region> expose(std::byte* memory, std::size_t bytes, Counter* raised) override;

    std::unique_ptr<Work> write(Counter& trigger, std::uint64_t threshold, const std::byte* source,
                                std::size_t bytes, const Target& target, Counter& done) override;
    std::unique_ptr<Work> add(Counter& trigger, std::uint64_t threshold, Counter& raised) override;
    void keep(std::vector<std::unique_ptr<Work>> works,
              std::vector<std::unique_ptr<Counter>> counters) override {
        const std::lock_guard lock(mutex_);
        std::move(works.begin(), works.end(), std::back_inserter(kept_));
        std::move(counters.begin(), counters.end(), std::back_inserter(kept_counters_));
    }

    void stop() override {
        const auto lock = hold();
        if (process_ == ::getpid()) endpoint_->close();
    }

    std::uint64_t calls() const override { return calls_.load(std::memory_order_relaxed); }

    // Must be held for every call of a function of libfabric.
    std::unique_lock<std::mutex> hold() const {
        calls_.fetch_add(1, std::memory_order_relaxed);
        return std::unique_lock(mutex_);
    }

  private:
    std::string provider() const { return endpoint_->provider(); }

    Open<fid_cntr> open_counter() {
        fi_cntr_attr attributes{};
        attributes.events = FI_CNTR_EVENTS_COMP;
        attributes.wait_obj = FI_WAIT_NONE;
        fid_cntr* counter = nullptr;
        const int result = ::fi_cntr_open(endpoint_->domain(), &attributes, &counter, nullptr);
        if (result != 0)
            throw Error(ErrorCode::system,
                        fmt::format("libfabric ({}) has no more counters: {}", provider(), why(result)));
        return Open<fid_cntr>(counter);
    }

    // Only a trial shows whether a provider has deferred work.
    void probe() {
        auto counter = open_counter();
        auto raised = open_counter();
        fi_op_cntr operation{.cntr = raised.get(), .value = 1};
        fi_deferred_work work{};
        work.triggering_cntr = counter.get();
        work.threshold = 1;
        work.op_type = FI_OP_CNTR_ADD;
        work.op.cntr = &operation;
        const int result = ::fi_control(&endpoint_->domain()->fid, FI_QUEUE_WORK, &work);
        if (result != 0)
            throw Error(ErrorCode::unsupported,
                        fmt::format("it has no deferred work (FI_QUEUE_WORK: {})", why(result)));
        check(::fi_cntr_add(counter.get(), 1), "fi_cntr_add");
        for (int looks = 0; ::fi_cntr_read(raised.get()) != 1; ++looks) {
            if (looks == 1000)
                throw Error(ErrorCode::unsupported, "its deferred work never runs (FI_QUEUE_WORK)");
            ::usleep(100);
        }
    }

    std::uint64_t ask_for_entries(int sharers) {
        if (provider() != "cxi") return default_entries;
        CxiDomainOperations* operations = nullptr;
        std::size_t depth = 0;
        if (::fi_open_ops(&endpoint_->domain()->fid, "dom_ops_v6", 0, reinterpret_cast<void**>(&operations),
                          nullptr) != 0 ||
            operations->get_dwq_depth(&endpoint_->domain()->fid, &depth) != 0)
            throw Error(ErrorCode::unsupported,
                        "it does not report its number of trigger entries: set LAPWING_TRIGGER_ENTRIES "
                        "(with Slurm: srun --network=def_tles=N)");
        return depth / static_cast<std::size_t>(sharers);
    }

    void queue(OfiWork& work) {
        const std::string broken = ofi::broken_rule(work.work, max_counted());
        if (!broken.empty()) throw Error(ErrorCode::internal, "deferred work breaks a rule: " + broken);
        const auto lock = hold();
        if (endpoint_->endpoint() == nullptr)
            throw Error(ErrorCode::link, "the network has stopped because a list failed");
        const int result = ::fi_control(&endpoint_->domain()->fid, FI_QUEUE_WORK, &work.work);
        if (result != 0)
            throw Error(ErrorCode::link,
                        fmt::format("libfabric ({}) refuses deferred work: {}", provider(), why(result)));
    }

    const pid_t process_ = ::getpid();
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Work>> kept_;  // outlive the endpoint
    mutable std::atomic<std::uint64_t> calls_{0};
    std::unique_ptr<ofi::Endpoint> endpoint_;
    std::vector<std::unique_ptr<Counter>> kept_counters_;  // closed before the endpoint's domain
    std::uint64_t entries_ = 0;
    std::uint64_t reserved_ = 0;
    std::uint64_t counters_ = 0;
    std::uint64_t reserved_counters_ = 0;
    std::map<std::string, fi_addr_t> peers_;  // by address
};

OfiCounter::~OfiCounter() {
    const auto lock = owner_.hold();
    counter_.reset();
}

std::uint64_t OfiCounter::read() {
    const auto lock = owner_.hold();
    if (::fi_cntr_readerr(counter_.get()) != 0)
        throw Error(ErrorCode::link, "a peer cannot be reached: a write of libfabric has failed");
    return ::fi_cntr_read(counter_.get());
}

std::uint64_t OfiCounter::ended() {
    const auto lock = owner_.hold();
    return ::fi_cntr_read(counter_.get()) + ::fi_cntr_readerr(counter_.get());
}

void OfiCounter::add(std::uint64_t value) {
    const auto lock = owner_.hold();
    check(::fi_cntr_add(counter_.get(), value), "fi_cntr_add");
}

void OfiCounter::set(std::uint64_t value) {
    const auto lock = owner_.hold();
    check(::fi_cntr_set(counter_.get(), value), "fi_cntr_set");
}

OfiRegion::~OfiRegion() {
    const auto lock = owner_.hold();
    region_.reset();
}

std::unique_ptr<DeferredWork::Region> OfiDeferredWork::expose(std::byte* memory, std::size_t bytes,
                                                              Counter* raised) {
    const auto lock = hold();
    // Keys are random: a process that does not know a key cannot write.
    const auto random_key = [this] {
        std::uint64_t key = 0;
        ::randombytes_buf(&key, sizeof key);
        const std::size_t width = std::min<std::size_t>(endpoint_->info().domain_attr->mr_key_size, 4) * 8;
        return width < 64 ? key & ((std::uint64_t{1} << width) - 1) : key;
    };
    fid_cntr* const counter = raised == nullptr ? nullptr : static_cast<OfiCounter*>(raised)->get();
    Open<fid_mr> region = register_memory(*endpoint_, memory, bytes, FI_REMOTE_WRITE, random_key, counter);
    const bool virtual_addresses = (endpoint_->info().domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    const std::uint64_t address = virtual_addresses ? reinterpret_cast<std::uintptr_t>(memory) : 0;
    return std::make_unique<OfiRegion>(*this, std::move(region), address);
}

std::unique_ptr<DeferredWork::Work> OfiDeferredWork::write(Counter& trigger, std::uint64_t threshold,
                                                           const std::byte* source, std::size_t bytes,
                                                           const Target& target, Counter& done) {
    auto made = std::make_unique<OfiWork>();
    made->from = {const_cast<std::byte*>(source), bytes};  // it is only read
    made->to = {target.address, bytes, target.key};
    made->rma.ep = endpoint_->endpoint();
    made->rma.msg.msg_iov = &made->from;
    made->rma.msg.iov_count = 1;
    made->rma.msg.addr = target.peer;
    made->rma.msg.rma_iov = &made->to;
    made->rma.msg.rma_iov_count = 1;
    made->rma.msg.context = &made->work.context;
    made->work.op_type = FI_OP_WRITE;
    made->work.op.rma = &made->rma;
    made->work.threshold = threshold;
    made->work.triggering_cntr = static_cast<OfiCounter&>(trigger).get();
    made->work.completion_cntr = static_cast<OfiCounter&>(done).get();
    queue(*made);
    return made;
}

std::unique_ptr<DeferredWork::Work> OfiDeferredWork::add(Counter& trigger, std::uint64_t threshold,
                                                         Counter& raised) {
    auto made = std::make_unique<OfiWork>();
    made->counter = {static_cast<OfiCounter&>(raised).get(), 1};
    made->work.op_type = FI_OP_CNTR_ADD;
    made->work.op.cntr = &made->counter;
    made->work.threshold = threshold;
    made->work.triggering_cntr = static_cast<OfiCounter&>(trigger).get();
    queue(*made);
    return made;
}

}  // namespace

std::unique_ptr<DeferredWork> open_deferred_work(const DeferredWorkOptions& options) {
    const KeptSignals kept;
    const BlockedSignals blocked;
    const tcp::Options internet{.interfaces = options.interfaces, .family = options.family};
    ofi::Info info = ofi::candidate_for_deferred_work(options.provider, internet);
    try {
        return std::make_unique<OfiDeferredWork>(std::move(info), options);
    } catch (const Error& error) {
        throw Error(error.code(),
                    fmt::format("{}, provider {}: {}", ofi::library().name, options.provider, error.what()));
    }
}

}  // namespace lapwing
