// The MPI families, by the libraries that are loaded.
#pragma once

#include <link.h>

#include <initializer_list>
#include <string_view>

namespace lapwing {

struct Family {
    std::string_view name;
    const char* title;
    std::initializer_list<const char*> libraries;
};
// The family whose MPI this library is; null if it is no MPI.
const Family* family_of(const dl_phdr_info& loaded);
// Null if there is none of this name.
const Family* find_family(std::string_view name);

}  // namespace lapwing
