// JSON, whose classes are compiled once, in json.cpp: in each file that uses them they take a third of a
// second. Every file of the tool sees this first, as a precompiled header.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
