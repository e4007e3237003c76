// The key "schema" of all JSON that programs of users may parse. The number grows when a key is removed, or
// changes its meaning; new keys do not change the number.
#pragma once

namespace lapwing {

inline constexpr int json_schema = 1;

}  // namespace lapwing
