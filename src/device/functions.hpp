// Functions of a library that is loaded already.
#pragma once

#include <dlfcn.h>

namespace lapwing::device {

// False when the library lacks it.
template <typename Function>
bool find_function(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    return function != nullptr;
}

}  // namespace lapwing::device
