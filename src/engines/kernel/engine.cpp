#include "engines/kernel/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/values.hpp"
#include "engines/job.hpp"
#include "engines/kernel/lanes.hpp"
#include "engines/kernel/prepared.hpp"
#include "engines/kernel/probe.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/sockets.hpp"
#include "task/chains.hpp"

namespace lapwing {
namespace {

using kernel::KernelGroup;
using kernel::PersistentLanes;
using kernel::ThreadRecords;

// Throws Error (invalid_argument).
kernel::Options kernel_options(const Settings& settings) {
    kernel::Options options;
    options.event_thread_lists = read_progress_choice(settings).lists;
    if (settings.submit != "caller" && settings.submit != "thread")
        refuse_value("LAPWING_SUBMIT", "caller or thread", settings.submit);
    options.event_thread_submits = settings.submit == "thread";
    if (const int buffer = tcp::read_options(settings).buffer_bytes; buffer != 0)
        options.socket_bytes = std::min<std::uint64_t>(options.socket_bytes, buffer);
    return options;
}

// The groups of this process whose connections fail together, also those that are added later: a group is
// opened when its first list is prepared.
class OpenConnections {
  public:
    void add(Connections* connections) {
        const std::lock_guard lock(mutex_);
        all_.push_back(connections);
        if (!why_failed_.empty()) connections->give_up(why_failed_);
    }
    void remove(Connections* connections) {
        const std::lock_guard lock(mutex_);
        std::erase(all_, connections);
    }
    void fail(const std::string& why) {
        const std::lock_guard lock(mutex_);
        if (why_failed_.empty()) why_failed_ = why;
        for (Connections* const connections : all_) connections->give_up(why);
    }

  private:
    std::mutex mutex_;
    std::string why_failed_;  // empty: not failed
    std::vector<Connections*> all_;
};

// The descriptors of this process that connections may take, counted before they are opened.
class Descriptors {
  public:
    // `to_stay_free`: how many must stay free for others.
    explicit Descriptors(std::uint64_t to_stay_free)
        : to_stay_free_(to_stay_free), limit_(tcp::free_descriptors()) {}

    // Sets `count` aside; raises the process' limit if need be. False if there are too few.
    bool take(std::uint64_t count) {
        const std::uint64_t all = taken_ + count + to_stay_free_;
        if (all > limit_) limit_ += tcp::raise_descriptor_limit(all - limit_);
        if (all > limit_) return false;
        taken_ += count;
        return true;
    }
    void release(std::uint64_t count) { taken_ -= count; }
    // That could still be taken or must stay free.
    std::uint64_t free() const { return limit_ - taken_; }
    std::uint64_t to_stay_free() const { return to_stay_free_; }

  private:
    const std::uint64_t to_stay_free_;
    std::uint64_t limit_;  // that were free at the start, or have been added since
    std::uint64_t taken_ = 0;
};

// The descriptors of one group: those of its shared lanes, and of the persistent lanes that it has opened.
class GroupDescriptors {
  public:
    GroupDescriptors(std::shared_ptr<Descriptors> all, int ranks)
        : all_(std::move(all)), peers_(static_cast<std::uint64_t>(ranks - 1)) {}
    ~GroupDescriptors() { release(lanes_); }
    GroupDescriptors& operator=(GroupDescriptors&&) = delete;
    bool take(int lanes) {
        const bool taken = all_->take(peers_ * static_cast<std::uint64_t>(lanes));
        if (taken) lanes_ += lanes;
        return taken;
    }
    void release(int lanes) {
        all_->release(peers_ * static_cast<std::uint64_t>(lanes));
        lanes_ -= lanes;
    }

  private:
    const std::shared_ptr<Descriptors> all_;
    const std::uint64_t peers_;
    int lanes_ = 0;
};

// What a group's prepared lists use, in the order of its construction.
struct GroupParts {
    std::shared_ptr<OpenConnections> open;
    std::unique_ptr<GroupDescriptors> descriptors;
    std::unique_ptr<Connections> connections;
    KernelGroup group;
    std::shared_ptr<PersistentLanes> persistent_lanes;

    GroupParts(std::shared_ptr<OpenConnections> all, std::unique_ptr<GroupDescriptors> reserved,
               std::unique_ptr<Connections> made, const kernel::Options& options)
        : open(std::move(all)),
          descriptors(std::move(reserved)),
          connections(std::move(made)),
          group(*connections, options, nullptr) {
        open->add(connections.get());
    }
    ~GroupParts() { open->remove(connections.get()); }
};

// The groups of the communicators that have the same members. Programs duplicate a communicator, use it a few
// times and free it: the next one takes over the connections, which are empty once all ranks have completed
// the collectives of the former one. A group has the same position on all ranks, which agree on the position
// that a new communicator takes: the first one such that each rank has no position from there on in use.
class GroupPool {
  public:
    // Instead of a position: a group of its own, which no other communicator takes over, at once or late.
    static constexpr std::uint64_t own_group = std::uint64_t{1} << 61;
    static constexpr std::uint64_t late = std::uint64_t{1} << 62;
    // Communicators in use beside which another one gets its connections late: they take a millisecond.
    static constexpr std::size_t max_early = 8;
    // Each unused group keeps its descriptors and a ring.
    static constexpr std::size_t max_unused = 8;

    struct Family {
        struct Position {
            std::unique_ptr<GroupParts> parts;  // null: closed on this rank, which does not use it again
            bool in_use = false;
        };
        std::vector<Position> positions;
        std::size_t undecided = 0;  // communicators whose position this rank does not know yet
        // Held by each communicator that has a group of its own from the start.
        std::shared_ptr<const char> own = std::make_shared<const char>();
        std::uint64_t claim() const {
            const auto taken =
                static_cast<std::size_t>(std::ranges::count(positions, true, &Position::in_use));
            if (taken + undecided + static_cast<std::size_t>(own.use_count() - 1) >= max_early) return late;
            if (undecided > 0) return own_group;
            std::size_t position = positions.size();
            while (position > 0 && is_unused(positions[position - 1])) --position;
            return position;
        }
    };
    Family& of(const std::vector<int>& members) { return families_[members]; }

    // The group at this position, which `make()` makes if there is none yet.
    template <typename Make>
    GroupParts* take(Family& family, std::uint64_t position, Make make) {
        if (position >= family.positions.size()) family.positions.resize(position + 1);
        Family::Position& taken = family.positions[position];
        if (taken.parts == nullptr) taken.parts = make();
        std::erase(unused_, std::pair(&family, position));
        taken.in_use = true;
        return taken.parts.get();
    }
    // No communicator uses it any more.
    void release(Family& family, std::uint64_t position) {
        Family::Position& released = family.positions[position];
        released.in_use = false;
        released.parts->group.use_intra_node(nullptr);
        if (!released.parts->group.is_unused_and_whole()) return released.parts.reset();
        unused_.emplace_back(&family, position);
        if (unused_.size() > max_unused) close_unused();
    }
    // Closes the group that is unused for longest, and that no communicator may be about to take. Returns
    // false if there is none.
    bool close_unused() {
        const auto found =
            std::ranges::find_if(unused_, [](const auto& unused) { return unused.first->undecided == 0; });
        if (found == unused_.end()) return false;
        const auto [family, position] = *found;
        unused_.erase(found);
        family->positions[position].parts.reset();
        return true;
    }

  private:
    static bool is_unused(const Family::Position& position) {
        return position.parts != nullptr && !position.in_use;
    }

    std::map<std::vector<int>, Family> families_;
    std::deque<std::pair<Family*, std::uint64_t>> unused_;
};

// Of one communicator: the descriptors of a new group, which it may not need, and its claim to a position.
class GroupReservation final : public Reservation {
  public:
    GroupReservation(std::unique_ptr<GroupDescriptors> of_new_group, GroupPool::Family& of)
        : descriptors(std::move(of_new_group)), family(of), claim_(of.claim()) {
        ++family.undecided;
    }
    ~GroupReservation() override {
        if (!agreed_ || position()) --family.undecided;
        // Other ranks may have opened the group.
        if (position() && *position() >= family.positions.size()) family.positions.resize(*position() + 1);
    }
    std::uint64_t claim() const override { return claim_; }
    void agreed(std::uint64_t maximum) override {
        agreed_ = maximum;
        if (position()) return;
        --family.undecided;
        if (maximum == GroupPool::own_group) own = family.own;
    }
    bool is_costly() const override { return agreed_ == GroupPool::late; }

    // Empty: a group of its own. Without an agreement, the ranks might choose different positions.
    std::optional<std::uint64_t> position() const {
        return agreed_ < GroupPool::own_group ? agreed_ : std::nullopt;  // an empty one is less than any
    }

    std::unique_ptr<GroupDescriptors> descriptors;
    GroupPool::Family& family;
    std::shared_ptr<const char> own;  // see Family

  private:
    const std::uint64_t claim_;
    std::optional<std::uint64_t> agreed_;
};

class KernelJob final : public JobEngine {
  public:
    explicit KernelJob(Job& job)
        : job_(job),
          options_(kernel_options(job.settings())),
          lanes_(static_cast<int>(number_in("LAPWING_TCP_LANES", job.settings().tcp_lanes, 1, 64))) {
        options_.persistent_lanes = PersistentLanes::count;
        endpoint_ = &job.sockets([&] {
            if (const Verdict available = kernel::probe(); !available)
                throw Error(ErrorCode::unsupported, available.reason());
            descriptors_ =
                std::make_shared<Descriptors>(tcp::reserved_descriptors + job.descriptors_to_come());
            // The group of all ranks takes these without asking the others again.
            of_all_ranks_ = set_aside(job.ranks());
            if (of_all_ranks_ == nullptr) throw Error(ErrorCode::system, too_few(job.ranks()));
        });
        // A quarter, so that the peer can send on while this much waits here. TCP wakes a receive when the
        // window is almost closed.
        if (kernel::sets_socket_options()) options_.low_water_mark = options_.socket_bytes / 4;
    }

    std::string description() const override {
        return "sockets on " + tcp::describe_interfaces(tcp::read_options(job_.settings()));
    }

    std::unique_ptr<Reservation> reserve(const std::vector<int>& members) override {
        const int ranks = static_cast<int>(members.size());
        auto descriptors = of_all_ranks_ != nullptr ? std::move(of_all_ranks_) : set_aside(ranks);
        while (descriptors == nullptr && pool_->close_unused()) descriptors = set_aside(ranks);
        if (descriptors != nullptr)
            return std::make_unique<GroupReservation>(std::move(descriptors), pool_->of(members));
        warn(too_few(ranks) + "; the host engine runs its collectives");
        return nullptr;
    }

    std::unique_ptr<GroupEngine> open(const EngineGroup& group,
                                      std::unique_ptr<Reservation> reserved) override {
        auto& reservation = static_cast<GroupReservation&>(*reserved);
        GroupPool::Family& family = reservation.family;
        const std::optional<std::uint64_t> position = reservation.position();
        const auto make_parts = [&] { return make(group, std::move(reservation.descriptors)); };
        std::shared_ptr<GroupParts> parts;
        if (position) {
            parts = {pool_->take(family, *position, make_parts),
                     [pool = pool_, &family, at = *position](GroupParts*) { pool->release(family, at); }};
        } else {
            parts = {make_parts().release(), [own = reservation.own](GroupParts* made) { delete made; }};
        }
        parts->group.use_intra_node(group.intra_node);
        return std::make_unique<kernel::KernelGroupEngine>(
            kernel::KernelPrepared::Shared{std::shared_ptr<KernelGroup>(parts, &parts->group),
                                           parts->persistent_lanes, records_, options_,
                                           group.progress_thread},
            group.intra_node_peers);
    }

    std::vector<std::string> choices() const override { return records_->in_words(); }
    void fail(const std::string& why) override { open_->fail(why); }

  private:
    std::unique_ptr<GroupParts> make(const EngineGroup& group,
                                     std::unique_ptr<GroupDescriptors> descriptors) {
        GroupDescriptors& taken = *descriptors;
        auto parts = std::make_unique<GroupParts>(
            open_, std::move(descriptors),
            endpoint_->group(group.number, group.members, group.rank, lanes_ + options_.persistent_lanes),
            options_);
        const int ranks = static_cast<int>(group.members.size());
        parts->persistent_lanes = std::make_shared<PersistentLanes>(
            [this, &taken, ranks] {
                const bool has_lane = taken.take(1);
                if (!has_lane)
                    warn(too_few(ranks) + " for one more persistent collective; the host engine runs it");
                return has_lane;
            },
            [&taken] { taken.release(1); });
        return parts;
    }
    std::unique_ptr<GroupDescriptors> set_aside(int ranks) {
        auto descriptors = std::make_unique<GroupDescriptors>(descriptors_, ranks);
        return descriptors->take(lanes_) ? std::move(descriptors) : nullptr;
    }
    std::string too_few(int ranks) const {
        return fmt::format(
            "too few descriptors for a group of {} ranks: {} are needed for connections and {} for the "
            "program and the MPI, but only {} are free; raise `ulimit -n`{}",
            ranks, (ranks - 1) * lanes_, descriptors_->to_stay_free(), descriptors_->free(),
            lanes_ > 1 ? ", or lower LAPWING_TCP_LANES" : "");
    }
    void warn(const std::string& text) {
        if (!std::exchange(warned_, true)) job_.warn(fmt::format("rank {}: {}", job_.rank(), text));
    }

    Job& job_;
    kernel::Options options_;
    const int lanes_;
    tcp::Endpoint* endpoint_ = nullptr;
    std::shared_ptr<Descriptors> descriptors_;
    std::unique_ptr<GroupDescriptors> of_all_ranks_;
    const std::shared_ptr<GroupPool> pool_ = std::make_shared<GroupPool>();  // inside the owner's lock
    const std::shared_ptr<OpenConnections> open_ = std::make_shared<OpenConnections>();
    const std::shared_ptr<ThreadRecords> records_ = std::make_shared<ThreadRecords>();
    bool warned_ = false;
};

class KernelEngine final : public Engine {
  public:
    const char* name() const override { return "kernel"; }
    const char* summary() const override { return "Linux, by io_uring over TCP, while the program computes"; }
    Verdict available() const override { return kernel::probe(); }
    const char* network() const override { return "tcp"; }
    void check(const Settings& settings) const override { kernel_options(settings); }
    Verdict supports(const List& list) const override { return has_chains(list); }
    std::unique_ptr<JobEngine> open(Job& job) const override { return std::make_unique<KernelJob>(job); }
};

}  // namespace

const Engine& kernel_engine() {
    static const KernelEngine engine;
    return engine;
}

}  // namespace lapwing
