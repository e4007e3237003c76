// The words that may stand at a position of the command line. They come from the options themselves.
#pragma once

#include <string>
#include <vector>

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

struct Candidate {
    std::string word;
    std::string meaning;  // may be empty
};

struct Completion {
    enum class Rest {
        nothing,
        files,    // file names are possible, too
        command,  // the words from `command_at` on are another program's
    };
    std::vector<Candidate> candidates;
    Rest rest = Rest::nothing;
    std::size_t command_at = 0;  // among the words
};

// `words`: those after the tool's name; the last one is incomplete and may be empty.
Completion complete(const CommandLine& tool, const std::vector<std::string>& words);

}  // namespace lapwing::tool
