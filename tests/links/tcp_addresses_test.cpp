#include "links/tcp/addresses.hpp"

#include <arpa/inet.h>

#include "support/errors.hpp"
#include "support/unit.hpp"

namespace lapwing::tcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

IpAddress ip(const std::string& written) {
    const auto slash = written.find('/');
    const std::string address = written.substr(0, slash);
    IpAddress result{};
    result.family = address.find(':') == std::string::npos ? 4 : 6;
    result.prefix = static_cast<std::uint8_t>(std::stoi(written.substr(slash + 1)));
    EXPECT_EQ(inet_pton(result.family == 4 ? AF_INET : AF_INET6, address.c_str(), result.bytes), 1);
    result.loopback = address.rfind("127.", 0) == 0 || address == "::1" ? 1 : 0;
    return result;
}

Interface interface(const std::string& name, const std::string& address) {
    return {name, ip(address), true};
}

std::vector<std::string> texts(const std::vector<IpAddress>& ips) {
    std::vector<std::string> result;
    for (const auto& one : ips) result.push_back(text(one));
    return result;
}

const std::vector<Interface> present = {
    interface("lo", "127.0.0.1/8"),   interface("bmc0", "169.254.0.1/16"), interface("eth0", "10.1.0.3/16"),
    interface("eth1", "10.2.0.3/16"), interface("lo", "::1/128"),          interface("eth0", "fd00::3/64"),
};

std::vector<std::string> chosen(const std::string& interfaces, const std::string& family = "auto") {
    Options options;
    options.interfaces = interfaces;
    options.family = family;
    check(options);
    return texts(choose(options, present));
}

std::string refused(const std::string& interfaces, const std::string& family = "auto") {
    return error_of([&] { chosen(interfaces, family); }, ErrorCode::invalid_argument, "");
}

TEST(TcpAddresses, AreChosenByNameAddressOrNetwork) {
    EXPECT_THAT(chosen("eth1"), ElementsAre("10.2.0.3"));
    EXPECT_THAT(chosen("eth0"), ElementsAre("10.1.0.3", "fd00::3"));
    EXPECT_THAT(chosen("10.2.0.3"), ElementsAre("10.2.0.3"));
    EXPECT_THAT(chosen("10.2.0.0/16"), ElementsAre("10.2.0.3"));
    EXPECT_THAT(chosen("10.0.0.0/14"), ElementsAre("10.1.0.3", "10.2.0.3"));
    EXPECT_THAT(chosen("fd00::/64"), ElementsAre("fd00::3"));
    EXPECT_THAT(chosen("lo"), ElementsAre("127.0.0.1", "::1"));
    EXPECT_THAT(chosen("0.0.0.0/0", "ipv4"), ElementsAre("127.0.0.1", "169.254.0.1", "10.1.0.3", "10.2.0.3"));
}

TEST(TcpAddresses, KeepTheOrderOfPreference) {
    EXPECT_THAT(chosen("eth1, 10.1.0.0/16 ,eth0"), ElementsAre("10.2.0.3", "10.1.0.3", "fd00::3"));
    EXPECT_THAT(chosen("eth7,eth1"), ElementsAre("10.2.0.3"));  // hosts may differ
}

TEST(TcpAddresses, AllThatAreUpWhenNoneIsNamed) {
    EXPECT_THAT(chosen(""),
                ElementsAre("10.1.0.3", "10.2.0.3", "fd00::3", "169.254.0.1", "127.0.0.1", "::1"));
    EXPECT_THAT(chosen("", "ipv4"), ElementsAre("10.1.0.3", "10.2.0.3", "169.254.0.1", "127.0.0.1"));
    EXPECT_THAT(chosen("", "ipv6"), ElementsAre("fd00::3", "::1"));
}

TEST(TcpAddresses, WhatDoesNotFitNamesWhatThereIs) {
    EXPECT_THAT(refused("ib0"), testing::AllOf(HasSubstr("LAPWING_TCP_INTERFACE"), HasSubstr("'ib0'"),
                                               HasSubstr("eth1 (10.2.0.3/16)"), HasSubstr("fd00::3/64")));
    EXPECT_THAT(refused("10.3.0.0/16"), HasSubstr("10.2.0.3"));
    EXPECT_THAT(refused("eth1", "ipv6"), HasSubstr("LAPWING_TCP_FAMILY=ipv6"));
}

TEST(TcpAddresses, TextsOfAnotherFormAreRefused) {
    for (const char* wrong : {"10.0.0.0/33", "fd00::/129", "10.0.0.0/x", "10.0.0.0/", "eth0/24", ",",
                              "eth0,,eth1", "averyverylonginterface", "eth 0", "10.0.0.0/-1"})
        EXPECT_THAT(refused(wrong), HasSubstr("LAPWING_TCP_INTERFACE")) << wrong;
    EXPECT_THAT(refused("", "ipv5"), HasSubstr("LAPWING_TCP_FAMILY"));
}

Address host(std::uint64_t number, const std::vector<std::string>& ips) {
    Address result;
    std::memset(static_cast<void*>(&result), 0, sizeof result);
    result.host = number;
    for (std::size_t i = 0; i < ips.size(); ++i) result.ips[i] = ip(ips[i]);
    return result;
}

TEST(TcpRoutes, PreferTheNetworkThatBothShare) {
    const Address self = host(1, {"10.1.0.3/16", "10.2.0.3/16", "127.0.0.1/8"});
    const Address peer = host(2, {"192.168.9.4/24", "10.2.0.4/16", "10.1.0.4/16", "127.0.0.1/8"});
    EXPECT_THAT(texts(routes(self, peer)), ElementsAre("10.1.0.4", "10.2.0.4", "192.168.9.4"));
}

TEST(TcpRoutes, LoopbackOnlyOnOneHost) {
    const Address self = host(1, {"10.1.0.3/16", "127.0.0.1/8"});
    const Address peer = host(1, {"10.1.0.3/16", "127.0.0.1/8"});
    EXPECT_THAT(texts(routes(self, peer)), ElementsAre("127.0.0.1", "10.1.0.3"));
    EXPECT_THAT(texts(routes(self, host(2, {"127.0.0.1/8"}))), IsEmpty());
    // Without it, the host's address leads there as well.
    EXPECT_THAT(texts(routes(host(1, {"10.1.0.3/16"}), host(1, {"10.1.0.3/16"}))), ElementsAre("10.1.0.3"));
}

TEST(TcpRoutes, AnAddressThatBothHaveLeadsNowhere) {
    const Address self = host(1, {"172.17.0.1/16", "10.1.0.3/16"});
    const Address peer = host(2, {"172.17.0.1/16", "10.1.0.4/16"});
    EXPECT_THAT(texts(routes(self, peer)), ElementsAre("10.1.0.4"));
}

TEST(TcpRoutes, WrongBytesDoNoHarm) {
    Address wrong;
    std::memset(static_cast<void*>(&wrong), 0xff, sizeof wrong);
    EXPECT_THAT(routes(wrong, wrong), IsEmpty());
    for (auto& one : wrong.ips) one.family = 6;  // with prefixes of 255 bits
    EXPECT_EQ(routes(wrong, wrong).size(), 1u);
}

TEST(TcpAddresses, TheHostHasANumberAndLoopback) {
    EXPECT_EQ(host_number(), host_number());
    EXPECT_NE(host_number(), 0u);
    EXPECT_FALSE(host_name().empty());
    EXPECT_THAT(interfaces(),
                testing::Contains(testing::Field(&Interface::ip, testing::Field(&IpAddress::loopback, 1))));
}

TEST(TcpAddresses, AreWrittenAsUsual) {
    sockaddr_storage address{};
    socket_address(ip("10.0.0.3/8"), 4000, address);
    EXPECT_EQ(text(address), "10.0.0.3:4000");
    socket_address(ip("fd00::3/64"), 4000, address);
    EXPECT_EQ(text(address), "[fd00::3]:4000");
    socket_address(ip("::ffff:10.0.0.3/128"), 4000, address);
    EXPECT_EQ(text(address), "10.0.0.3:4000");
}

}  // namespace
}  // namespace lapwing::tcp
