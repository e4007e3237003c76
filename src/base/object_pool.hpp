// Objects that are used again and again, each at an address that does not change.
#pragma once

#include <memory>
#include <vector>

namespace lapwing {

// Not thread-safe. Owns all objects that it has made, also those that are in use.
template <typename Object>
class ObjectPool {
  public:
    // Returns an object that is not in use, as its last user released it; a new one only if all are in use.
    // `make()` makes a new object and returns a std::unique_ptr to it; may throw.
    template <typename Make>
    Object& take(Make make) {
        if (idle_.empty()) {
            // release() must not allocate.
            idle_.reserve(objects_.size() + 1);
            idle_.push_back(objects_.emplace_back(make()).get());
        }
        Object& object = *idle_.back();
        idle_.pop_back();
        return object;
    }
    Object& take() {
        return take([] { return std::make_unique<Object>(); });
    }

    // `object` came from take() and is not in use any more.
    void release(Object& object) noexcept { idle_.push_back(&object); }

    // All objects, in use or not.
    const std::vector<std::unique_ptr<Object>>& objects() const { return objects_; }

  private:
    std::vector<std::unique_ptr<Object>> objects_;
    std::vector<Object*> idle_;
};

}  // namespace lapwing
