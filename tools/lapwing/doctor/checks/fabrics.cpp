#include "lapwing/doctor/checks/fabrics.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <rdma/fabric.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/error.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

constexpr std::chrono::seconds max_time_to_answer{8};

struct Library {
    explicit Library(const char* soname) : handle(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {}
    template <typename Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(handle, name));
    }
    std::string path() const {
        link_map* map = nullptr;
        return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
    }
    void* const handle;
};

void add_new(Facts& devices, const std::string& device) {
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
}

// UCP has no call that lists resources; it prints them: "resource 2  :  md 1  dev 2  flags -- tcp/eth0".
Facts devices_of(const Library& library, ucp_context_h context) {
    Facts devices = Facts::array();
    auto* const print = library.find<decltype(ucp_context_print_info)>("ucp_context_print_info");
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* const memory = open_memstream(&text, &length);
    if (print == nullptr || memory == nullptr) return devices;
    print(context, memory);
    std::fclose(memory);
    std::istringstream lines(std::string(text, length));
    std::free(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" resource ") == std::string::npos) continue;
        const std::string device = line.substr(line.rfind(' ') + 1);
        if (device.find('/') != std::string::npos) add_new(devices, device);
    }
    return devices;
}

Facts describe_ucx(const Library& library) {
    auto* const version = library.find<decltype(ucp_get_version)>("ucp_get_version");
    auto* const init = library.find<decltype(ucp_init_version)>("ucp_init_version");
    auto* const words = library.find<decltype(ucp_get_version_string)>("ucp_get_version_string");
    if (version == nullptr || init == nullptr || words == nullptr)
        return {{"wrong", "it lacks ucp_init_version and its like"}};
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    version(&major, &minor, &release);
    Facts facts = {{"version", words()}};
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    ucp_context_h context = nullptr;
    if (const ucs_status_t status = init(major, minor, &parameters, nullptr, &context); status != UCS_OK) {
        facts["wrong"] = fmt::format("ucp_init fails with status {}", static_cast<int>(status));
        return facts;
    }
    facts["devices"] = devices_of(library, context);
    return facts;
}

Facts describe_libfabric(const Library& library) {
    auto* const version = library.find<decltype(fi_version)>("fi_version");
    auto* const get = library.find<decltype(fi_getinfo)>("fi_getinfo");
    if (version == nullptr || get == nullptr) return {{"wrong", "it lacks fi_getinfo"}};
    const std::uint32_t number = version();
    Facts facts = {{"version", fmt::format("{}.{}", FI_MAJOR(number), FI_MINOR(number))}};
    fi_info* first = nullptr;
    const int status = get(std::min<std::uint32_t>(number, FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)),
                           nullptr, nullptr, 0, nullptr, &first);
    facts["devices"] = Facts::array();
    if (status != 0) {
        facts["wrong"] = fmt::format("fi_getinfo fails with status {}", status);
        return facts;
    }
    for (const fi_info* info = first; info != nullptr; info = info->next) {
        if (info->fabric_attr == nullptr || info->fabric_attr->prov_name == nullptr) continue;
        const char* const domain = info->domain_attr != nullptr ? info->domain_attr->name : nullptr;
        add_new(facts["devices"], fmt::format("{}{}{}", info->fabric_attr->prov_name,
                                              domain != nullptr ? "/" : "", domain != nullptr ? domain : ""));
    }
    return facts;
}

struct Fabric {
    const char* name;
    const char* soname;
    Facts (*describe)(const Library& library);
};
const Fabric fabrics[] = {{"ucx", "libucp.so.0", describe_ucx},
                          {"libfabric", "libfabric.so.1", describe_libfabric}};

Facts ask(const char* name) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const Finished answer = run_program({self, "doctor-fabric", name}, "", max_time_to_answer);
    // On a busy host: nothing is known about the library then.
    if (answer.timed_out)
        throw Error(ErrorCode::system, fmt::format("no answer within {} s", max_time_to_answer.count()));
    if (answer.status > 128)
        return {{"wrong", fmt::format("the process that loaded it ended by signal {}", answer.status - 128)}};
    // Libraries may print lines of their own.
    const std::size_t begin = answer.out.rfind("\n{");
    const Facts facts =
        Facts::parse(begin == std::string::npos ? answer.out : answer.out.substr(begin + 1), nullptr, false);
    if (facts.is_object()) return facts;
    return {{"wrong", fmt::format("it ended the process that loaded it, with status {}", answer.status)}};
}

std::vector<std::string> devices_in(const Facts& facts) {
    return facts.value("devices", std::vector<std::string>());
}

std::string fabric_line(const Facts& facts) {
    if (facts.contains("missing")) return "not found";
    std::string line = facts.value("version", "");
    const std::string wrong = facts.value("wrong", "");
    if (!wrong.empty()) line += fmt::format("{}broken: {}", line.empty() ? "" : ", ", wrong);
    const std::vector<std::string> devices = devices_in(facts);
    if (!devices.empty()) line += fmt::format(": {}", fmt::join(devices, ", "));
    return line;
}

void judge_fabric(const JobReport& job, const char* check, const char* title, Findings& findings) {
    const auto wrong = [](const Facts& facts) { return facts.value("wrong", ""); };
    for (const auto& [why, hosts] : hosts_by(job, check, wrong)) {
        if (why.empty()) continue;
        findings.hint(
            "host", names_of(hosts), fmt::format("{} does not work: {}", title, why),
            fmt::format("MPI libraries that are built on {} will not work either, or will fall back "
                        "to TCP: ask who installed it",
                        title));
    }
    judge_equal(
        job, check,
        [](const Facts& facts) {
            return facts.contains("missing") ? std::string("missing") : facts.value("version", "?");
        },
        Severity::hint, "host", fmt::format("{}'s version", title),
        "install the same on all hosts: an MPI that uses it may refuse to connect different ones", findings);
}

void judge_ucx(const JobReport& job, Findings& findings) {
    judge_fabric(job, "ucx", "UCX", findings);
}
void judge_libfabric(const JobReport& job, Findings& findings) {
    judge_fabric(job, "libfabric", "libfabric", findings);
}

}  // namespace

int describe_fabric(const std::string& name) {
    const auto* const fabric = std::find_if(std::begin(fabrics), std::end(fabrics),
                                            [&](const Fabric& one) { return one.name == name; });
    if (fabric == std::end(fabrics))
        throw Error(ErrorCode::invalid_argument, fmt::format("unknown library '{}'", name));
    const Library library(fabric->soname);
    Facts facts;
    if (library.handle == nullptr) {
        const char* const why = dlerror();
        const std::string words = why != nullptr ? why : "";
        const bool missing =
            words.find("cannot open shared object file: No such file") != std::string::npos &&
            words.starts_with(fabric->soname);
        facts = {{missing ? "missing" : "wrong", words}};
    } else {
        facts = fabric->describe(library);
        facts["path"] = library.path();
    }
    fmt::print("\n{}\n", facts.dump(-1, ' ', true, Facts::error_handler_t::replace));
    std::fflush(stdout);
    // What the library would do at the end of the process is no concern of ours.
    std::_Exit(success);
}

std::vector<std::string> rdma_devices(const HostReport& host) {
    static const std::string transports[] = {"rc_", "dc_", "ud_", "gga", "verbs", "cxi", "efa", "psm", "opx"};
    std::vector<std::string> found;
    for (const Fabric& fabric : fabrics) {
        const Facts* const facts = host.find(fabric.name);
        if (facts == nullptr || facts->contains("error")) continue;
        for (const std::string& device : devices_in(*facts)) {
            if (std::any_of(std::begin(transports), std::end(transports),
                            [&](const std::string& one) { return device.starts_with(one); }))
                found.push_back(device);
        }
    }
    return found;
}

extern const Check ucx_check;
const Check ucx_check{"ucx",       "UCX",     [](const MpiFamily&) { return ask("ucx"); },
                      fabric_line, judge_ucx, Severity::hint};
extern const Check libfabric_check;
const Check libfabric_check{"libfabric", "libfabric",     [](const MpiFamily&) { return ask("libfabric"); },
                            fabric_line, judge_libfabric, Severity::hint};

}  // namespace lapwing::tool
