// Namespaces: they give a process its own network, names and mounts. All throw Error (system).
#pragma once

#include <sys/types.h>

#include <string>

namespace lapwing::tool {

// Moves this process into new namespaces, and its later children into a new process namespace. Without the
// capabilities, the process becomes root in a user namespace. Throws Error (unsupported) with the missing
// permission.
void leave_for_new_namespaces();

// Gives this process a network, name, mounts and shared memory of its own, in the cluster's process
// namespace.
void leave_for_host_namespaces();

// Mounts /proc for the processes of this namespace.
void mount_own_proc();
// Mounts /sys for the interfaces of this namespace. Prints a warning if the system forbids it.
void mount_own_sys();
// Mounts a new /dev/shm. `kept`: a directory of the present /dev/shm that the new one contains; or empty.
void mount_own_shared_memory(const std::string& kept);
// Replaces `path` by `file`. Does nothing if `path` does not exist.
void mount_file_over(const std::string& file, const char* path);

void set_host_name(const std::string& name);

// Moves this process into the network, name, mounts and shared memory of another process. Keeps the working
// directory if it exists there.
void enter_namespaces_of(pid_t process);

}  // namespace lapwing::tool
