#include "links/tcp/options.hpp"

#include "base/values.hpp"

namespace lapwing::tcp {

Options read_options(const Settings& settings) {
    constexpr std::uint64_t max_buffer = 1U << 30;
    Options options;
    options.interfaces = settings.tcp_interface;
    options.family = settings.tcp_family;
    options.patience = std::chrono::seconds(number_in("LAPWING_TIMEOUT", settings.timeout, 1, 86400));
    options.buffer_bytes =
        static_cast<int>(bytes_in("LAPWING_TCP_BUFFER", settings.tcp_buffer, 0, max_buffer));
    check(options);
    return options;
}

}  // namespace lapwing::tcp
