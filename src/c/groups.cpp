#include "c/group.hpp"

#include <mutex>

#include "c/status.hpp"

namespace lapwing::c {
namespace {

// Never destroyed: a program may exit while another thread is still in here.
std::mutex& mutex = *new std::mutex;
auto& groups = *new std::vector<std::shared_ptr<Group>>;
std::atomic<std::size_t> count{0};

}  // namespace

Group& group_of(const lapwing_group* handle) {
    if (handle == nullptr) throw_invalid("group is null");
    return *handle->group;
}

std::vector<std::shared_ptr<Group>> other_groups(const Group* group) {
    if (count < 2) return {};
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<Group>> others;
    for (const auto& one : groups) {
        if (one.get() != group && one->of_this_process()) others.push_back(one);
    }
    return others;
}

}  // namespace lapwing::c

using namespace lapwing::c;

lapwing_status lapwing_group_create(int rank, int size, lapwing_exchange* exchange, void* context,
                                    const char* const* options, lapwing_group** group) {
    if (group != nullptr) *group = nullptr;
    return guarded([&] {
        if (group == nullptr) lapwing::throw_invalid("group is null");
        auto handle = std::make_unique<lapwing_group>();
        handle->group = std::make_shared<Group>(rank, size, exchange, context, options);
        const std::lock_guard lock(mutex);
        groups.push_back(handle->group);
        count = groups.size();
        *group = handle.release();
    });
}

lapwing_status lapwing_group_destroy(lapwing_group* group) {
    return guarded([&] {
        if (group == nullptr) return;
        if (group->group->of_this_process() && group->group->busy())
            lapwing::throw_invalid(
                "the group has operations that were not waited for, or plans that were not destroyed");
        group->group->leave([&] {
            // A peer may wait for an operation of another group before it comes to this one's end.
            for (const auto& other : other_groups(group->group.get())) other->try_move();
        });
        {
            const std::lock_guard lock(mutex);
            std::erase(groups, group->group);
            count = groups.size();
        }
        delete group;
    });
}

lapwing_status lapwing_group_abort(lapwing_group* group, const char* why) {
    return guarded([&] {
        Group& aborted = group_of(group);
        aborted.break_up("rank " + std::to_string(aborted.rank()) + " called lapwing_group_abort" +
                         (why == nullptr ? "" : std::string(": ") + why));
    });
}

int lapwing_group_rank(const lapwing_group* group) {
    return group->group->rank();
}

int lapwing_group_size(const lapwing_group* group) {
    return group->group->size();
}

const char* lapwing_group_engine(const lapwing_group* group) {
    return group->group->engine();
}

const char* lapwing_group_inside_host(const lapwing_group* group) {
    return group->group->inside_host().c_str();
}

const char* lapwing_group_network(const lapwing_group* group) {
    return group->group->network();
}

const char* lapwing_group_note(const lapwing_group* group) {
    return group->group->note().c_str();
}
