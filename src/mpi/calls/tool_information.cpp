// The tool information interface, MPI_T: the native MPI's variables, and Lapwing's among them.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/tool_variables.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/native.hpp"

namespace lapwing {
namespace {

using namespace tool_variables;

Indices performance_indices(performance_variables());
Indices control_indices(control_variables());
Indices category_indices(1);
constexpr const char* category_name = "lapwing";
constexpr const char* category_description = "Lapwing: nonblocking collectives as task lists";

template <typename Native>
int count(Native native_count, Indices& indices, int* total) {
    int native = 0;
    const int error = native_count(&native);
    if (error != MPI_SUCCESS) return error;
    const int all = indices.total(native);
    if (total != nullptr) *total = all;
    return MPI_SUCCESS;
}

// Return the error of the MPI, such as MPI_T_ERR_NOT_INITIALIZED. All functions begin with one of these.
int count_performance(int* total = nullptr) {
    return count(PMPI_T_pvar_get_num, performance_indices, total);
}
int count_controls(int* total = nullptr) {
    return count(PMPI_T_cvar_get_num, control_indices, total);
}
int count_categories(int* total = nullptr) {
    return count(PMPI_T_category_get_num, category_indices, total);
}

// The same, and MPI_T_ERR_INVALID_INDEX for an index beyond all variables: MPICH 4.0 must not be asked for
// such a one.
int check_index(int (*count)(int*), int index) {
    int all = 0;
    const int error = count(&all);
    return error != MPI_SUCCESS || (index >= 0 && index < all) ? error : MPI_T_ERR_INVALID_INDEX;
}

// The program may pass null for what it does not want to know.
template <typename Value>
void give(Value* to, Value value) {
    if (to != nullptr) *to = value;
}

struct PerformanceHandle {
    MPI_T_pvar_session session;
    int index;
    bool timer;
    bool running = false;
    std::uint64_t sum = 0;     // until the last stop
    std::uint64_t before = 0;  // the value at the start, while it runs

    std::uint64_t now() const { return running ? sum + value_of(index) - before : sum; }
    void set(std::uint64_t value) {
        sum = value;
        if (running) before = value_of(index);
    }
    void start() {
        // From now on clocks are read.
        if (timer) runtime.measures = true;
        if (!running) before = value_of(index);
        running = true;
    }
    void stop() {
        sum = now();
        running = false;
    }
    void give(void* buffer, std::uint64_t value) const {
        if (timer) {
            const double seconds = static_cast<double>(value) * 1e-9;
            std::memcpy(buffer, &seconds, sizeof seconds);
        } else {
            const unsigned long long count = value;
            std::memcpy(buffer, &count, sizeof count);
        }
    }
    void take_from(const void* buffer) {
        if (timer) {
            double seconds = 0;
            std::memcpy(&seconds, buffer, sizeof seconds);
            set(seconds > 0 ? static_cast<std::uint64_t>(seconds * 1e9) : 0);
        } else {
            unsigned long long count = 0;
            std::memcpy(&count, buffer, sizeof count);
            set(count);
        }
    }
};

// Handles of Lapwing's are addresses of these objects, which no handle of the MPI's can have.
struct Handles {
    std::mutex mutex;
    std::map<MPI_T_pvar_handle, std::unique_ptr<PerformanceHandle>> performance;
    std::map<MPI_T_cvar_handle, std::unique_ptr<Control>> controls;
};
Handles& handles = *new Handles;

MPI_T_pvar_handle all_handles() {
#ifdef MPI_T_PVAR_ALL_HANDLES
    return MPI_T_PVAR_ALL_HANDLES;
#else
    return *static_cast<const MPI_T_pvar_handle*>(find_native_variable("MPI_T_PVAR_ALL_HANDLES"));
#endif
}

// Does `own` with a handle of Lapwing's, and `native` with one of the MPI's; both with all handles.
template <typename Own, typename Native>
int with_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Own own, Native native) {
    {
        const std::lock_guard lock(handles.mutex);
        if (handle == all_handles()) {
            for (const auto& [key, one] : handles.performance) {
                if (one->session == session) own(*one);
            }
        } else if (const auto found = handles.performance.find(handle); found != handles.performance.end()) {
            if (found->second->session != session) return MPI_T_ERR_INVALID_SESSION;
            own(*found->second);
            return MPI_SUCCESS;
        }
    }
    return native();
}

// What the MPI has filled in of `native`, by the program's indices.
int translate(int error, const Indices& indices, const std::vector<int>& native, int* all) {
    if (error != MPI_SUCCESS) return error;
    for (std::size_t i = 0; i < native.size(); ++i) {
        if (native[i] >= 0) all[i] = indices.from_native(native[i]);
    }
    return MPI_SUCCESS;
}
int own_category(const Indices& indices, int length, int* all) {
    for (int i = 0; i < std::min(length, indices.own_variables()); ++i) all[i] = indices.from_own(i);
    return MPI_SUCCESS;
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_T_pvar_get_num(int* total) {
    return total == nullptr ? NEXT_T_pvar_get_num(total) : count_performance(total);
}

LAPWING_MPI MPI_T_pvar_get_info(int index, char* name, int* name_length, int* verbosity, int* var_class,
                                MPI_Datatype* datatype, MPI_T_enum* enumtype, char* description,
                                int* description_length, int* bind, int* readonly, int* continuous,
                                int* atomic) {
    if (const int error = check_index(count_performance, index); error != MPI_SUCCESS) return error;
    if (!performance_indices.is_own(index)) {
        return NEXT_T_pvar_get_info(performance_indices.to_native(index), name, name_length, verbosity,
                                    var_class, datatype, enumtype, description, description_length, bind,
                                    readonly, continuous, atomic);
    }
    const Performance variable = performance(performance_indices.own(index));
    copy(variable.name, name, name_length);
    copy(variable.description, description, description_length);
    give<int>(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    give<int>(var_class, variable.timer ? MPI_T_PVAR_CLASS_TIMER : MPI_T_PVAR_CLASS_COUNTER);
    give<MPI_Datatype>(datatype, variable.timer ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG);
    give<MPI_T_enum>(enumtype, MPI_T_ENUM_NULL);
    give<int>(bind, MPI_T_BIND_NO_OBJECT);
    give(readonly, 0);
    give(continuous, 0);
    give(atomic, 1);
    return MPI_SUCCESS;
}

LAPWING_MPI MPI_T_pvar_get_index(const char* name, int var_class, int* index) {
    if (const int error = count_performance(); error != MPI_SUCCESS) return error;
    if (name != nullptr && index != nullptr && std::strncmp(name, "lapwing_", 8) == 0) {
        for (int i = 0; i < performance_variables(); ++i) {
            const Performance variable = performance(i);
            if (variable.name != name ||
                var_class != (variable.timer ? MPI_T_PVAR_CLASS_TIMER : MPI_T_PVAR_CLASS_COUNTER))
                continue;
            *index = performance_indices.from_own(i);
            return MPI_SUCCESS;
        }
    }
    const int error = NEXT_T_pvar_get_index(name, var_class, index);
    if (error == MPI_SUCCESS) *index = performance_indices.from_native(*index);
    return error;
}

LAPWING_MPI MPI_T_pvar_session_free(MPI_T_pvar_session* session) {
    if (session != nullptr) {
        const std::lock_guard lock(handles.mutex);
        std::erase_if(handles.performance, [&](const auto& one) { return one.second->session == *session; });
    }
    return NEXT_T_pvar_session_free(session);
}

LAPWING_MPI MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void* object,
                                    MPI_T_pvar_handle* handle, int* count) {
    if (const int error = check_index(count_performance, index); error != MPI_SUCCESS) return error;
    if (!performance_indices.is_own(index))
        return NEXT_T_pvar_handle_alloc(session, performance_indices.to_native(index), object, handle, count);
    const int own = performance_indices.own(index);
    auto made = std::make_unique<PerformanceHandle>(PerformanceHandle{session, own, performance(own).timer});
    const auto address = reinterpret_cast<MPI_T_pvar_handle>(made.get());
    const std::lock_guard lock(handles.mutex);
    handles.performance[address] = std::move(made);
    *handle = address;
    give(count, 1);
    return MPI_SUCCESS;
}

LAPWING_MPI MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
    if (handle != nullptr) {
        const std::lock_guard lock(handles.mutex);
        const auto found = handles.performance.find(*handle);
        if (found != handles.performance.end()) {
            if (found->second->session != session) return MPI_T_ERR_INVALID_SESSION;
            handles.performance.erase(found);
            *handle = MPI_T_PVAR_HANDLE_NULL;
            return MPI_SUCCESS;
        }
    }
    return NEXT_T_pvar_handle_free(session, handle);
}

LAPWING_MPI MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return with_handle(
        session, handle, [](PerformanceHandle& one) { one.start(); },
        [&] { return NEXT_T_pvar_start(session, handle); });
}
LAPWING_MPI MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return with_handle(
        session, handle, [](PerformanceHandle& one) { one.stop(); },
        [&] { return NEXT_T_pvar_stop(session, handle); });
}
LAPWING_MPI MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return with_handle(
        session, handle, [](PerformanceHandle& one) { one.set(0); },
        [&] { return NEXT_T_pvar_reset(session, handle); });
}

// All handles at once must not be read or written: the MPI says so.
LAPWING_MPI MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
    if (handle == all_handles()) return NEXT_T_pvar_read(session, handle, buffer);
    return with_handle(
        session, handle, [&](PerformanceHandle& one) { one.give(buffer, one.now()); },
        [&] { return NEXT_T_pvar_read(session, handle, buffer); });
}
LAPWING_MPI MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
    if (handle == all_handles()) return NEXT_T_pvar_readreset(session, handle, buffer);
    return with_handle(
        session, handle,
        [&](PerformanceHandle& one) {
            // One reading of the counter for both.
            const std::uint64_t value = one.now();
            one.before += value - one.sum;
            one.give(buffer, value);
            one.sum = 0;
        },
        [&] { return NEXT_T_pvar_readreset(session, handle, buffer); });
}
LAPWING_MPI MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buffer) {
    if (handle == all_handles()) return NEXT_T_pvar_write(session, handle, buffer);
    return with_handle(
        session, handle, [&](PerformanceHandle& one) { one.take_from(buffer); },
        [&] { return NEXT_T_pvar_write(session, handle, buffer); });
}

LAPWING_MPI MPI_T_cvar_get_num(int* total) {
    return total == nullptr ? NEXT_T_cvar_get_num(total) : count_controls(total);
}

LAPWING_MPI MPI_T_cvar_get_info(int index, char* name, int* name_length, int* verbosity,
                                MPI_Datatype* datatype, MPI_T_enum* enumtype, char* description,
                                int* description_length, int* bind, int* scope) {
    if (const int error = check_index(count_controls, index); error != MPI_SUCCESS) return error;
    if (!control_indices.is_own(index)) {
        return NEXT_T_cvar_get_info(control_indices.to_native(index), name, name_length, verbosity, datatype,
                                    enumtype, description, description_length, bind, scope);
    }
    const Control variable = control(control_indices.own(index));
    copy(variable.name, name, name_length);
    copy(variable.description, description, description_length);
    give<int>(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    give<MPI_Datatype>(datatype, MPI_CHAR);
    give<MPI_T_enum>(enumtype, MPI_T_ENUM_NULL);
    give<int>(bind, MPI_T_BIND_NO_OBJECT);
    give<int>(scope, MPI_T_SCOPE_CONSTANT);
    return MPI_SUCCESS;
}

LAPWING_MPI MPI_T_cvar_get_index(const char* name, int* index) {
    if (const int error = count_controls(); error != MPI_SUCCESS) return error;
    if (name != nullptr && index != nullptr) {
        for (int i = 0; i < control_variables(); ++i) {
            if (control(i).name != name) continue;
            *index = control_indices.from_own(i);
            return MPI_SUCCESS;
        }
    }
    const int error = NEXT_T_cvar_get_index(name, index);
    if (error == MPI_SUCCESS) *index = control_indices.from_native(*index);
    return error;
}

LAPWING_MPI MPI_T_cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* handle, int* count) {
    if (const int error = check_index(count_controls, index); error != MPI_SUCCESS) return error;
    if (!control_indices.is_own(index))
        return NEXT_T_cvar_handle_alloc(control_indices.to_native(index), object, handle, count);
    // The value at this moment, whose length the program gets.
    auto made = std::make_unique<Control>(control(control_indices.own(index)));
    const auto address = reinterpret_cast<MPI_T_cvar_handle>(made.get());
    give(count, static_cast<int>(made->value.size()) + 1);
    const std::lock_guard lock(handles.mutex);
    handles.controls[address] = std::move(made);
    *handle = address;
    return MPI_SUCCESS;
}

LAPWING_MPI MPI_T_cvar_handle_free(MPI_T_cvar_handle* handle) {
    if (handle != nullptr) {
        const std::lock_guard lock(handles.mutex);
        if (handles.controls.erase(*handle) == 1) {
            *handle = MPI_T_CVAR_HANDLE_NULL;
            return MPI_SUCCESS;
        }
    }
    return NEXT_T_cvar_handle_free(handle);
}

LAPWING_MPI MPI_T_cvar_read(MPI_T_cvar_handle handle, void* buffer) {
    {
        const std::lock_guard lock(handles.mutex);
        if (const auto found = handles.controls.find(handle); found != handles.controls.end()) {
            const std::string& value = found->second->value;
            std::memcpy(buffer, value.c_str(), value.size() + 1);
            return MPI_SUCCESS;
        }
    }
    return NEXT_T_cvar_read(handle, buffer);
}

LAPWING_MPI MPI_T_cvar_write(MPI_T_cvar_handle handle, const void* buffer) {
    {
        const std::lock_guard lock(handles.mutex);
        if (handles.controls.contains(handle)) return MPI_T_ERR_CVAR_SET_NEVER;
    }
    return NEXT_T_cvar_write(handle, buffer);
}

LAPWING_MPI MPI_T_category_get_num(int* total) {
    return total == nullptr ? NEXT_T_category_get_num(total) : count_categories(total);
}

LAPWING_MPI MPI_T_category_get_info(int index, char* name, int* name_length, char* description,
                                    int* description_length, int* controls, int* performances,
                                    int* categories) {
    if (const int error = check_index(count_categories, index); error != MPI_SUCCESS) return error;
    if (!category_indices.is_own(index)) {
        return NEXT_T_category_get_info(category_indices.to_native(index), name, name_length, description,
                                        description_length, controls, performances, categories);
    }
    copy(category_name, name, name_length);
    copy(category_description, description, description_length);
    give(controls, control_variables());
    give(performances, performance_variables());
    give(categories, 0);
    return MPI_SUCCESS;
}

LAPWING_MPI MPI_T_category_get_index(const char* name, int* index) {
    if (const int error = count_categories(); error != MPI_SUCCESS) return error;
    if (name != nullptr && index != nullptr && std::strcmp(name, category_name) == 0) {
        *index = category_indices.from_own(0);
        return MPI_SUCCESS;
    }
    const int error = NEXT_T_category_get_index(name, index);
    if (error == MPI_SUCCESS) *index = category_indices.from_native(*index);
    return error;
}

// The MPI leaves entries beyond its variables as they are; -1 marks them, because no index is negative.
LAPWING_MPI MPI_T_category_get_cvars(int index, int length, int all[]) {
    if (const int error = check_index(count_categories, index); error != MPI_SUCCESS) return error;
    if (const int error = count_controls(); error != MPI_SUCCESS) return error;
    if (category_indices.is_own(index)) return own_category(control_indices, length, all);
    std::vector<int> native(static_cast<std::size_t>(std::max(length, 0)), -1);
    const int error = NEXT_T_category_get_cvars(category_indices.to_native(index), length, native.data());
    return translate(error, control_indices, native, all);
}

LAPWING_MPI MPI_T_category_get_pvars(int index, int length, int all[]) {
    if (const int error = check_index(count_categories, index); error != MPI_SUCCESS) return error;
    if (const int error = count_performance(); error != MPI_SUCCESS) return error;
    if (category_indices.is_own(index)) return own_category(performance_indices, length, all);
    std::vector<int> native(static_cast<std::size_t>(std::max(length, 0)), -1);
    const int error = NEXT_T_category_get_pvars(category_indices.to_native(index), length, native.data());
    return translate(error, performance_indices, native, all);
}

LAPWING_MPI MPI_T_category_get_categories(int index, int length, int all[]) {
    if (const int error = check_index(count_categories, index); error != MPI_SUCCESS) return error;
    if (category_indices.is_own(index)) return MPI_SUCCESS;
    std::vector<int> native(static_cast<std::size_t>(std::max(length, 0)), -1);
    const int error =
        NEXT_T_category_get_categories(category_indices.to_native(index), length, native.data());
    return translate(error, category_indices, native, all);
}

// Of MPI 4, which the header may not have.
LAPWING_MPI MPI_T_category_get_num_events(int index, int* events) {
    if (const int error = check_index(count_categories, index); error != MPI_SUCCESS) return error;
    if (category_indices.is_own(index)) {
        give(events, 0);
        return MPI_SUCCESS;
    }
    static auto* const next =
        reinterpret_cast<int (*)(int, int*)>(find_next("MPI_T_category_get_num_events"));
    return next == nullptr ? MPI_T_ERR_INVALID_INDEX : next(category_indices.to_native(index), events);
}

LAPWING_MPI MPI_T_category_get_events(int index, int length, int all[]) {
    if (const int error = check_index(count_categories, index); error != MPI_SUCCESS) return error;
    if (category_indices.is_own(index)) return MPI_SUCCESS;
    static auto* const next =
        reinterpret_cast<int (*)(int, int, int*)>(find_next("MPI_T_category_get_events"));
    return next == nullptr ? MPI_T_ERR_INVALID_INDEX : next(category_indices.to_native(index), length, all);
}
