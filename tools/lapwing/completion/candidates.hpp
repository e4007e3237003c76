// What may stand at a place of the command line: read off the options themselves, so that nothing need be
// kept in step with them.
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
        files,    // names of files may stand there, too
        command,  // the words from `command_at` on are another program's
    };
    std::vector<Candidate> candidates;
    Rest rest = Rest::nothing;
    std::size_t command_at = 0;  // among the words
};

// `words` after the tool's name, up to the one that is being written: the last, perhaps empty.
Completion complete(const CommandLine& tool, const std::vector<std::string>& words);

}  // namespace lapwing::tool
