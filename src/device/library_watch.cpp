#include "device/library_watch.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>

namespace lapwing::device {
namespace {

// The number of libraries loaded so far, including those that were unloaded.
unsigned long long loaded_so_far() {
    unsigned long long loaded = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            *static_cast<unsigned long long*>(result) = info->dlpi_adds;
            return 1;  // the same in each entry
        },
        &loaded);
    return loaded;
}

constexpr std::array marks = {"libanl.so.1", "libutil.so.1", "librt.so.1", "libdl.so.2", "libpthread.so.0"};

// Returns null if the program has already loaded the library, or if it does not exist.
link_map* load_at_the_end(const char* library) {
    if (void* const there = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD); there != nullptr) {
        ::dlclose(there);
        return nullptr;
    }
    void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    link_map* entry = nullptr;
    return loaded != nullptr && ::dlinfo(loaded, RTLD_DI_LINKMAP, &entry) == 0 ? entry : nullptr;
}

}  // namespace

bool LibraryWatch::mark_the_end() {
    while (next_mark_ < marks.size()) {
        if (link_map* const mark = load_at_the_end(marks[next_mark_++]); mark != nullptr) {
            end_.store(&mark->l_next, std::memory_order_release);
            return true;
        }
    }
    end_.store(&never_the_end_, std::memory_order_release);
    return false;
}

bool LibraryWatch::look_closely() {
    const std::lock_guard lock(mutex_);
    // Another thread has just been here, or no mark is left.
    if (loaded_ != 0 && loaded_so_far() == loaded_) return false;
    // A library that another thread loads from now on is not counted, so the next call detects it.
    loaded_ = loaded_so_far();
    if (mark_the_end()) ++loaded_;
    return true;
}

}  // namespace lapwing::device
