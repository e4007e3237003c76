#include "plan/options.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/values.hpp"
#include "engines/catalogue.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/fabrics.hpp"

namespace lapwing {
namespace {

constexpr std::uint64_t max_lanes = 64;

[[noreturn]] void refuse(const char* variable, const char* form, const std::string& value) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is {}, not '{}'", variable, form, value));
}

std::uint64_t number_of(const char* variable, const std::string& value, std::uint64_t least,
                        std::uint64_t most) {
    const auto number = parse_number(value);
    if (!number || *number < least || *number > most) {
        refuse(variable, fmt::format("a number from {} to {}", least, most).c_str(), value);
    }
    return *number;
}

void read_progress_thread(const Settings& settings, NetworkSettings& network) {
    if (settings.progress_thread == "none") return;
    if (settings.progress_thread == "auto") {
        network.engine_options.event_thread_work = EventThreadWork::long_lists;
        return;
    }
    network.engine_options.event_thread_work = EventThreadWork::all;
    if (settings.progress_thread == "any") return;
    const auto processors = parse_processors(settings.progress_thread);
    if (!processors)
        refuse("LAPWING_PROGRESS_THREAD", "none, auto, any or a list of processors such as 0,2-3",
               settings.progress_thread);
    network.progress_processors = *processors;
}

void read_engine_options(const Settings& settings, EngineOptions& engine_options) {
    if (settings.submit == "helper")
        throw Error(ErrorCode::invalid_argument, "LAPWING_SUBMIT=helper is now LAPWING_SUBMIT=thread");
    if (settings.submit != "caller" && settings.submit != "thread")
        refuse("LAPWING_SUBMIT", "caller or thread", settings.submit);
    engine_options.event_thread_submits = settings.submit == "thread";
}

shm::TransferMethod transfer_of(const Settings& settings) {
    if (settings.transfer == "auto") return shm::TransferMethod::automatic;
    if (settings.transfer == "processor") return shm::TransferMethod::processor;
    if (settings.transfer != "kernel")
        refuse("LAPWING_TRANSFER", "auto, kernel or processor", settings.transfer);
    return shm::TransferMethod::kernel;
}

std::uint64_t max_bytes_by_memory(const Settings& settings) {
    if (settings.inside == "memory") return UINT64_MAX;
    if (settings.inside == "engine") return 0;
    const auto bytes = parse_bytes(settings.inside);
    if (!bytes) refuse("LAPWING_INSIDE", "memory, engine or a number of bytes such as 4Ki", settings.inside);
    return *bytes;
}

tcp::Options options_of(const Settings& settings) {
    tcp::Options options;
    options.interfaces = settings.tcp_interface;
    options.family = settings.tcp_family;
    options.patience = std::chrono::seconds(number_of("LAPWING_TIMEOUT", settings.timeout, 1, 86400));
    const auto buffer = parse_bytes(settings.tcp_buffer);
    if (!buffer || *buffer > 1U << 30)
        refuse("LAPWING_TCP_BUFFER", "a number of bytes up to 1Gi", settings.tcp_buffer);
    options.buffer_bytes = static_cast<int>(*buffer);
    tcp::check(options);
    return options;
}

void read_deferred_work(const Settings& settings, NetworkSettings& network) {
    DeferredWorkOptions& options = network.deferred_work;
    options.provider = settings.trigger_provider;
    if (settings.trigger_entries != "auto")
        options.entries = number_of("LAPWING_TRIGGER_ENTRIES", settings.trigger_entries, 1, 1U << 20);
    if (settings.trigger_counters != "auto")
        options.counters = number_of("LAPWING_TRIGGER_COUNTERS", settings.trigger_counters, 1, 1U << 20);
    const auto bytes = parse_bytes(settings.trigger_bytes);
    if (!bytes || *bytes == 0 || *bytes > (1U << 30))
        refuse("LAPWING_TRIGGER_BYTES", "a number of bytes up to 1Gi, such as 32Ki", settings.trigger_bytes);
    network.engine_options.trigger_bytes = *bytes;
    options.interfaces = network.tcp.interfaces;
    options.family = network.tcp.family;
}

const WorkVariant* work_queues_of(const Settings& settings) {
    std::vector<std::string> words = {"auto"};
    for (const WorkVariant& variant : work_variants()) {
        if (settings.work_queues == variant.name) return &variant;
        words.emplace_back(variant.name);
    }
    check_word("LAPWING_WORK_QUEUES", settings.work_queues, words);
    return nullptr;
}

}  // namespace

PlanOptions read_plan_options(const Settings& settings, const std::vector<std::string>& engine_words) {
    std::vector<std::string> words = {"auto"};
    words.insert(words.end(), engine_words.begin(), engine_words.end());
    for (const Engine* engine : engines()) words.emplace_back(engine->name());
    check_word("LAPWING_ENGINE", settings.engine, words);
    PlanOptions options;
    options.engine = settings.engine;
    options.requested = RequestedAlgorithms::parse(settings.algorithm);
    if (!settings.tuning.empty())
        options.tuning = std::make_shared<const Tuning>(Tuning::read(settings.tuning));
#ifdef NDEBUG
    constexpr bool default_check = false;
#else
    constexpr bool default_check = true;
#endif
    options.check = settings.check == "auto" ? default_check : parse_switch("LAPWING_CHECK", settings.check);
    options.max_bytes_by_memory = max_bytes_by_memory(settings);
    return options;
}

bool takes_device_memory(const Settings& settings) {
    check_word("LAPWING_DEVICE_MEMORY", settings.device_memory, {"auto", "0"});
    return settings.device_memory == "auto";
}

NetworkSettings read_network_settings(const Settings& settings) {
    takes_device_memory(settings);  // the value is one of them
    NetworkSettings network;
    network.tcp = options_of(settings);
    std::vector<std::string> networks = {"auto", "mpi"};
    for (const FabricKind& kind : fabrics()) networks.emplace_back(kind.name);
    check_word("LAPWING_NETWORK", settings.network, networks);
    network.network = settings.network;
    network.shared_memory = parse_switch("LAPWING_SHARED_MEMORY", settings.shared_memory);
    network.transfer = transfer_of(settings);
    network.max_bytes_by_memory = max_bytes_by_memory(settings);
    network.lanes = static_cast<int>(number_of("LAPWING_TCP_LANES", settings.tcp_lanes, 1, max_lanes));
    read_progress_thread(settings, network);
    read_engine_options(settings, network.engine_options);
    read_deferred_work(settings, network);
    network.engine_options.card_variant = work_queues_of(settings);
    if (network.tcp.buffer_bytes != 0)
        network.engine_options.socket_bytes =
            std::min<std::uint64_t>(network.engine_options.socket_bytes, network.tcp.buffer_bytes);
    return network;
}

}  // namespace lapwing
