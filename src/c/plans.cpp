// Plans that the caller keeps.
#include <fmt/format.h>

#include "c/call.hpp"
#include "c/group.hpp"
#include "c/status.hpp"
#include "task/text.hpp"

struct lapwing_plan {
    std::shared_ptr<lapwing::c::Group> group;
    lapwing::Plan* plan = nullptr;
    lapwing::c::Call call;
    std::string text;
};

using namespace lapwing::c;

lapwing_status lapwing_plan_create(lapwing_group* handle, const lapwing_problem* problem,
                                   lapwing_plan** plan) {
    if (plan != nullptr) *plan = nullptr;
    return guarded([&] {
        if (plan == nullptr || problem == nullptr) lapwing::throw_invalid("plan or problem is null");
        Group& group = group_of(handle);
        auto made = std::make_unique<lapwing_plan>();
        made->group = group.shared_from_this();
        made->call = call_of(group, *problem);
        made->plan = &group.pin(made->call.problem);
        try {
            made->text =
                fmt::format("{} on {}", lapwing::print(made->plan->choice), made->plan->engine->name());
        } catch (...) {
            group.unpin(*made->plan);
            throw;
        }
        *plan = made.release();
    });
}

lapwing_status lapwing_start(lapwing_plan* plan, const void* in, void* out, lapwing_operation** operation) {
    if (operation != nullptr) *operation = nullptr;
    return guarded([&] {
        if (plan == nullptr || operation == nullptr) lapwing::throw_invalid("plan or operation is null");
        *operation = plan->group->start(*plan->plan, buffers_of(*plan->group, plan->call.problem, in, out),
                                        plan->call.function);
    });
}

lapwing_status lapwing_plan_destroy(lapwing_plan* plan) {
    return guarded([&] {
        if (plan == nullptr) return;
        plan->group->unpin(*plan->plan);
        delete plan;
    });
}

const char* lapwing_plan_text(const lapwing_plan* plan) {
    return plan->text.c_str();
}
