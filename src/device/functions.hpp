// Functions of a library that is already loaded.
#pragma once

#include <dlfcn.h>

#include <mutex>
#include <vector>

namespace lapwing::device {

// The library whose functions a table of Function members lists.
struct Library {
    void* handle = nullptr;
    bool complete = true;  // false once a function is missing
};

// A function that the library must have, by one of its names.
template <typename Signature>
class Function {
  public:
    template <typename... Names>
    explicit Function(Library& library, Names... names) {
        (find(library, names), ...);
        if (function_ == nullptr) library.complete = false;
    }
    template <typename... Arguments>
    auto operator()(Arguments... arguments) const {
        return function_(arguments...);
    }

  protected:
    Function() = default;
    void find(const Library& library, const char* name) {
        if (function_ == nullptr) function_ = reinterpret_cast<Signature*>(::dlsym(library.handle, name));
    }
    Signature* function_ = nullptr;
};

// A function that the library may have.
template <typename Signature>
class OptionalFunction : public Function<Signature> {
  public:
    OptionalFunction(const Library& library, const char* name) { this->find(library, name); }
    explicit operator bool() const { return this->function_ != nullptr; }
};

// Streams of Lapwing's own, which neither wait for the program's streams nor make them wait. One for each
// key.
template <typename Key>
class Streams {
  public:
    // Returns the stream of `key`. `make()` returns a new stream, and may throw.
    template <typename Make>
    void* of(const Key& key, Make make) {
        const std::lock_guard lock(mutex_);
        for (const auto& [known, stream] : streams_) {
            if (known == key) return stream;
        }
        void* const stream = make();
        streams_.emplace_back(key, stream);
        return stream;
    }

  private:
    std::mutex mutex_;
    std::vector<std::pair<Key, void*>> streams_;
};

}  // namespace lapwing::device
