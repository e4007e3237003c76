#include "lapwing/cluster/namespaces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/messages.hpp"

namespace lapwing::tool {
namespace {

constexpr int host_namespaces = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;

bool has_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    if (syscall(SYS_capget, &header, data) != 0) return false;
    const auto has = [&](int capability) {
        return (data[capability / 32].effective >> (capability % 32) & 1) != 0;
    };
    return has(CAP_SYS_ADMIN) && has(CAP_NET_ADMIN) && has(CAP_SYS_CHROOT);
}

void write_proc_file(const char* path, const std::string& content) {
    errno = 0;
    std::ofstream file(path);
    if (!(file << content << std::flush)) throw_system(path);
}

[[noreturn]] void refuse_for_want_of_privilege(const std::string& what) {
    throw Error(ErrorCode::unsupported,
                fmt::format("cannot create the namespaces of the virtual hosts ({}: {}). Any one of these "
                            "helps: run as root; allow user namespaces (sysctl "
                            "user.max_user_namespaces=10000, on Debian kernel.unprivileged_userns_clone=1, "
                            "on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0); start the "
                            "container with --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt "
                            "seccomp=unconfined --security-opt apparmor=unconfined, or --privileged",
                            what, std::strerror(errno)));
}

// What is mounted at `path`, with all below, to be mounted elsewhere; -1 when there is nothing. By the call's
// number: glibc has a function for it since 2.36 only.
int take_mounts(const char* path) {
    return static_cast<int>(
        syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | AT_RECURSIVE | OPEN_TREE_CLOEXEC));
}

bool place_mounts(int tree, const char* path) {
    const bool placed =
        tree >= 0 && syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
    if (tree >= 0) close(tree);
    return placed;
}

}  // namespace

void leave_for_new_namespaces() {
    const uid_t user = geteuid();
    const gid_t group = getegid();
    const int wanted = host_namespaces | CLONE_NEWPID;
    if (!has_capabilities()) {
        if (unshare(wanted | CLONE_NEWUSER) != 0) refuse_for_want_of_privilege("unshare");
        try {
            write_proc_file("/proc/self/setgroups", "deny");
            write_proc_file("/proc/self/uid_map", fmt::format("0 {} 1", user));
            write_proc_file("/proc/self/gid_map", fmt::format("0 {} 1", group));
        } catch (const Error& error) {
            refuse_for_want_of_privilege(error.what());
        }
    } else if (unshare(wanted) != 0) {
        refuse_for_want_of_privilege("unshare");
    }
    // Nothing that is mounted from here on is seen outside.
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        refuse_for_want_of_privilege("mount");
}

void leave_for_host_namespaces() {
    if (unshare(host_namespaces) != 0) throw_system("cannot create the namespaces of a host");
}

void mount_own_proc() {
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) return;
    throw_system(
        "cannot mount /proc (in a container: start it with --privileged, or with --security-opt "
        "systempaths=unconfined)");
}

void mount_own_sys() {
    const int control_groups = take_mounts("/sys/fs/cgroup");
    constexpr unsigned long usual = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    // Inside containers only what is read-only may be mounted.
    if (mount("sysfs", "/sys", "sysfs", usual, nullptr) != 0 &&
        mount("sysfs", "/sys", "sysfs", usual | MS_RDONLY, nullptr) != 0) {
        const int error = errno;
        if (control_groups >= 0) close(control_groups);
        print_message(
            "lapwing cluster: cannot mount /sys ({}); /sys/class/net shows the interfaces of this "
            "machine, which misleads UCX\n",
            std::strerror(error));
        return;
    }
    place_mounts(control_groups, "/sys/fs/cgroup");
}

void mount_own_shared_memory(const std::string& kept) {
    const int tree = kept.empty() ? -1 : take_mounts(kept.c_str());
    // Not noexec: the remote shell is here, and users may put programs here.
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
        throw_system("cannot mount /dev/shm");
    }
    if (kept.empty()) return;
    if (mkdir(kept.c_str(), 0755) != 0 || !place_mounts(tree, kept.c_str())) throw_system(kept);
}

void mount_file_over(const std::string& file, const char* path) {
    if (access(path, F_OK) != 0) return;
    if (mount(file.c_str(), path, nullptr, MS_BIND, nullptr) != 0) {
        throw_system(fmt::format("cannot replace {}", path));
    }
}

void set_host_name(const std::string& name) {
    if (sethostname(name.c_str(), name.size()) != 0) throw_system("cannot set the host name");
}

void enter_namespaces_of(pid_t process) {
    std::error_code ignored;
    const std::filesystem::path directory = std::filesystem::current_path(ignored);
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor < 0) throw_system("the host no longer exists");
    if (setns(descriptor, host_namespaces) != 0) throw_system("cannot enter the namespaces of the host");
    close(descriptor);
    std::filesystem::current_path(directory, ignored);
    if (ignored && chdir("/") != 0) throw_system("/");
}

}  // namespace lapwing::tool
