// Algorithms by name: those of the catalogue, "pairwise:window=6", and those of list files, "file:my.lists".
#pragma once

#include <string_view>
#include <vector>

#include "collectives/user_lists.hpp"

namespace lapwing {

// Returns the part of "file:my.lists" behind the colon; empty for an algorithm of the catalogue.
std::string_view list_file_of(std::string_view algorithm);

// Parses an algorithm of the collective, and reads its file if it has one. Throws Error: as parse_choice();
// of a file (system) if it cannot be read, (parse) with the position of a mistake, (invalid_argument) if it
// has no lists of the collective, or if blocks of the collective may differ in length. Does not prove the
// lists: UserLists does when a problem needs them. Thread-safe.
Choice read_choice(Collective collective, std::string_view algorithm);

// Returns the lists of a file, one for each collective that it has. They are never freed. A file that has not
// changed is read once. Throws the same.
std::vector<const UserLists*> read_list_file(const std::string& path);

}  // namespace lapwing
