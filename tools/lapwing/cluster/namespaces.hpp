// Namespaces: they give a process its own network, names and mounts. All throw Error (system).
#pragma once

#include <sys/types.h>

#include <string>

namespace lapwing::tool {

// Moves this process into new namespaces, and its later children into a new process namespace. Without the
// capabilities for it, it gets them in a user namespace in which it is root. Throws Error (unsupported) that
// says what is missing.
void leave_for_new_namespaces();

// A host's own: network, name, mounts, shared memory. The process stays among the cluster's processes.
void leave_for_host_namespaces();

// /proc shows the processes of this namespace.
void mount_own_proc();
// /sys/class/net shows the interfaces of this namespace. Says so on standard error when the system forbids
// it.
void mount_own_sys();
// A /dev/shm of its own, with `kept`, a directory of the present one, in it (unless empty).
void mount_own_shared_memory(const std::string& kept);
// `file` is read where `path` was; nothing happens when there is no such path.
void mount_file_over(const std::string& file, const char* path);

void set_host_name(const std::string& name);

// Moves this process into the network, name, mounts and shared memory of another one; it keeps its working
// directory when that exists there.
void enter_namespaces_of(pid_t process);

}  // namespace lapwing::tool
