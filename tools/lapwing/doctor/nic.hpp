// `lapwing doctor --nic`: what the cards of this host do with cross-channel work, as a transcript to send in.
#pragma once

#include <string>

namespace lapwing::tool {

// Of all cards, or the one of that name. Prints the transcript; returns the tool's exit status.
int examine_nics(const std::string& name, bool json);

}  // namespace lapwing::tool
