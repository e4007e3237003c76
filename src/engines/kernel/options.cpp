#include "engines/kernel/options.hpp"

#include <algorithm>

#include "base/values.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::kernel {

Options read_options(const Settings& settings) {
    Options options;
    options.event_thread_lists = read_progress_choice(settings).lists;
    if (settings.submit != "caller" && settings.submit != "thread")
        refuse_value("LAPWING_SUBMIT", "caller or thread", settings.submit);
    options.event_thread_submits = settings.submit == "thread";
    if (const int buffer = tcp::read_options(settings).buffer_bytes; buffer != 0)
        options.socket_bytes = std::min<std::uint64_t>(options.socket_bytes, buffer);
    return options;
}

}  // namespace lapwing::kernel
