// Which hosts use several interfaces at once, and what the kernel reports of a connection's paths.
#include "links/tcp/rails.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.hpp"
#include "links/tcp/liveness.hpp"
#include "links/tcp/sockets.hpp"
#include "tcp_job.hpp"

namespace lapwing::tcp {
namespace {

Interface interface_at(const char* name, std::uint8_t network, bool loopback = false) {
    Interface result;
    result.name = name;
    result.ip.family = 4;
    result.ip.prefix = 24;
    result.ip.loopback = loopback ? 1 : 0;
    result.ip.bytes[0] = loopback ? 127 : 10;
    result.ip.bytes[2] = network;
    result.ip.bytes[3] = 1;
    return result;
}

bool kernel_has_it() {
    return static_cast<bool>(Socket(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)));
}

TEST(TcpRails, OneInterfaceIsNone) {
    const std::vector<Interface> present = {interface_at("lo", 0, true), interface_at("eth0", 0),
                                            interface_at("eth1", 1)};
    const std::vector<IpAddress> one = {present[0].ip, present[1].ip};
    EXPECT_FALSE(uses_rails({}, one, present));
    const std::vector<IpAddress> two = {present[1].ip, present[2].ip};
    const MultipathSetup setup = multipath_setup();
    EXPECT_EQ(uses_rails({}, two, present), setup.announced > 0 && setup.accepted > 0);
    Options options;
    options.rails = false;
    EXPECT_FALSE(uses_rails(options, two, present));
}

TEST(TcpRails, TheSettingIsChecked) {
    Settings settings;
    settings.tcp_rails = "2";
    EXPECT_THROW(read_options(settings), Error);
    settings.tcp_rails = "1";
    EXPECT_FALSE(read_options(settings).rails);
    settings.tcp_rails = "auto";
    EXPECT_TRUE(read_options(settings).rails);
}

TEST(TcpRails, EveryConnectionHasAPath) {
    LocalJob job(2);
    const auto zero = job.group(0);
    const auto one = job.group(1);
    zero->want(1, 0);
    one->want(0, 0);
    ASSERT_TRUE(within(long_enough, [&] { return one->descriptor(0, 0) >= 0; }));
    const int descriptor = one->descriptor(0, 0);
    EXPECT_FALSE(is_multipath(descriptor)) << "ranks of one host";
    const std::vector<Path> found = paths(descriptor);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].own.family, 0);
    EXPECT_EQ(found[0].info.tcpi_state, TCP_ESTABLISHED);
    EXPECT_TRUE(paths(-1).empty());
}

TEST(TcpRails, AMultipathConnectionReportsItsPaths) {
    if (!kernel_has_it()) GTEST_SKIP() << "this kernel has no Multipath TCP, or net.mptcp.enabled is 0";
    if (!multipath_setup().supported) GTEST_SKIP() << "this kernel does not report paths";
    Options options = loopback();
    options.buffer_bytes = 65536;
    IpAddress ip = interface_at("lo", 0, true).ip;
    std::uint16_t port = 0;
    const std::vector<Socket> listeners = listen_on({ip}, options, port);
    Socket client = make_socket(AF_INET, options);
    set_buffers(client.get(), options);
    sockaddr_storage address{};
    const socklen_t size = socket_address(ip, port, address);
    static_cast<void>(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), size));
    Socket server;
    ASSERT_TRUE(within(long_enough, [&] {
        server = Socket(accept(listeners.front().get(), nullptr, nullptr));
        return static_cast<bool>(server);
    }));
    for (const int descriptor : {client.get(), server.get()}) {
        EXPECT_TRUE(is_multipath(descriptor));
        ASSERT_TRUE(within(long_enough, [&] { return paths(descriptor).size() == 1; }));
        EXPECT_TRUE(same_address(paths(descriptor)[0].own, ip));
        EXPECT_FALSE(unanswered(paths(descriptor)[0].info));
        int bytes = 0;
        socklen_t length = sizeof bytes;
        getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, &length);
        EXPECT_EQ(bytes, 4 * 65536 * 2) << "the kernel doubles it";
        char name[16] = "";
        length = sizeof name;
        EXPECT_EQ(getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
    }
}

}  // namespace
}  // namespace lapwing::tcp
