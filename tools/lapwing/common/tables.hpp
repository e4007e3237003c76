// Lists and queues as tables: one column per rank, worded like Tables II, III and IV of
// Graham et al. 2010 (section IV).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "task/list.hpp"
#include "task/lowering.hpp"

namespace lapwing::tool {

// Puts as many ranks side by side as fit into `width` columns, and further ranks below.
std::string table(std::span<const List> lists, std::size_t width);
std::string table(std::span<const Queues> queues, std::size_t width);

// Rows of cells as aligned columns, two spaces apart; a column of numbers is aligned to the right.
std::string align(const std::vector<std::vector<std::string>>& rows);

// The width of the terminal of standard output. Without a terminal: COLUMNS, or 120.
std::size_t output_width();

}  // namespace lapwing::tool
