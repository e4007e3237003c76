// Detects that the program has loaded libraries by reading one word.
//
// glibc's list of libraries grows at its end. A library that is loaded for this purpose is the last entry
// until another library is loaded; then the next-pointer of its entry is set. glibc has some empty libraries
// that hardly any program loads. Each serves once, because it keeps its position in the list. When none is
// left, the loader is asked how many libraries it has loaded, by a walk through its list, which takes tens of
// nanoseconds.
#pragma once

#include <link.h>

#include <atomic>
#include <mutex>

namespace lapwing::device {

class LibraryWatch {
  public:
    LibraryWatch() = default;
    LibraryWatch(const LibraryWatch&) = delete;
    LibraryWatch& operator=(const LibraryWatch&) = delete;

    // Whether libraries may have been loaded since the last call that returned true. The first call returns
    // true. Thread-safe.
    bool changed() { return *end_.load(std::memory_order_acquire) != nullptr && look_closely(); }

  private:
    using Next = link_map* volatile;  // the loader's

    bool look_closely();
    bool mark_the_end();  // returns false if no mark is left

    link_map any_{};
    Next never_the_end_ = &any_;
    std::atomic<Next*> end_{&never_the_end_};
    std::mutex mutex_;  // guards the members below
    unsigned long long loaded_ = 0;
    std::size_t next_mark_ = 0;
};

}  // namespace lapwing::device
