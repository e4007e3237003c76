// Notices that the program has loaded libraries, at the price of reading one word.
//
// glibc's list of libraries grows at its end. So a library that is loaded for this purpose stands at the end
// until another one is loaded, which the pointer in its entry then shows. glibc has some libraries that are
// empty today and that hardly any program loads; each serves once, because it stays where it is. When none is
// left, the loader is asked how many libraries it has loaded so far: each call walks through its list, which
// takes tens of nanoseconds.
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

    // Whether libraries may have been loaded since the last time that this said so; true the first time. By
    // any thread.
    bool changed() { return *end_.load(std::memory_order_acquire) != nullptr && look_closely(); }

  private:
    using Next = link_map* volatile;  // the loader's

    bool look_closely();
    bool mark_the_end();  // false: no mark is left

    link_map any_{};
    Next never_the_end_ = &any_;
    std::atomic<Next*> end_{&never_the_end_};
    std::mutex mutex_;  // of what follows
    unsigned long long loaded_ = 0;
    std::size_t next_mark_ = 0;
};

}  // namespace lapwing::device
