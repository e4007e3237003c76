// The errors that functions throw, for tests that compare their messages.
#pragma once

#include "base/error.hpp"
#include "support/unit.hpp"

namespace lapwing {

// Returns the message of the Error that `work` throws, or `none` if it throws none. The error must have the
// code, if one is given.
template <typename Work>
std::string error_of(const Work& work, std::optional<ErrorCode> code = std::nullopt,
                     const std::string& none = "no error") {
    try {
        work();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code.value_or(error.code()));
        return error.what();
    }
    return none;
}

}  // namespace lapwing
