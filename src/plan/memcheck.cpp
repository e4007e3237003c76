#include "plan/memcheck.hpp"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

namespace lapwing::memcheck {

std::vector<Span> written_by([[maybe_unused]] const List& list) {
    std::vector<Span> written;
#if __has_include(<valgrind/memcheck.h>)
    if (RUNNING_ON_VALGRIND == 0) return written;
    for (const Task& task : list.tasks) {
        if (task.target.space == Space::out && task.target.length > 0) written.push_back(task.target);
    }
#endif
    return written;
}

// Before the run: what this process copies into out itself is initialised if its source is.
void mark([[maybe_unused]] const std::vector<Span>& written, [[maybe_unused]] std::byte* out) {
#if __has_include(<valgrind/memcheck.h>)
    for (const Span& span : written)
        static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(out + span.offset, span.length));
#endif
}

}  // namespace lapwing::memcheck
