#include "lapwing/mpi/program_file.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/descriptor.hpp"

namespace lapwing::tool {

ProgramFile::ProgramFile(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat found {};
    if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return;
    const auto size = static_cast<std::size_t>(found.st_size);
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory == MAP_FAILED) return;
    bytes_ = {static_cast<const char*>(memory), size};
    read_segments();
}

ProgramFile::~ProgramFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

bool ProgramFile::loads(std::string_view text) const {
    return std::ranges::any_of(loaded_, [&](std::string_view part) {
        // Several times as fast as find().
        return ::memmem(part.data(), part.size(), text.data(), text.size()) != nullptr;
    });
}

void ProgramFile::read_segments() {
    const auto part = [&](std::uint64_t offset, std::uint64_t length) {
        return bytes_.substr(std::min<std::uint64_t>(offset, bytes_.size()), length);
    };
    const auto read_at = [&](std::uint64_t offset, auto& out) {
        const std::string_view found = part(offset, sizeof out);
        if (found.size() == sizeof out) std::memcpy(&out, found.data(), sizeof out);
        return found.size() == sizeof out;
    };
    const auto text_at = [&](std::uint64_t offset) {
        const std::string_view rest = part(offset, bytes_.size());
        return std::string(rest.substr(0, rest.find('\0')));
    };
    ElfW(Ehdr) header{};
    if (!read_at(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
        return;
    std::vector<std::uint64_t> names;  // their offsets in the table of strings
    std::uint64_t strings = 0;         // the table's address
    std::vector<ElfW(Phdr)> segments(header.e_phnum);
    for (std::uint64_t i = 0; i < segments.size(); ++i) {
        const ElfW(Phdr)& segment = segments[i];
        if (!read_at(header.e_phoff + i * sizeof segment, segments[i])) return;
        if (segment.p_type == PT_LOAD) loaded_.push_back(part(segment.p_offset, segment.p_filesz));
        if (segment.p_type == PT_INTERP) loader_ = text_at(segment.p_offset);
        ElfW(Dyn) entry{};
        for (std::uint64_t offset = segment.p_offset;
             segment.p_type == PT_DYNAMIC && read_at(offset, entry) && entry.d_tag != DT_NULL;
             offset += sizeof entry) {
            if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
            if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
        }
    }
    for (const ElfW(Phdr) & segment : segments) {
        if (segment.p_type != PT_LOAD || strings - segment.p_vaddr >= segment.p_filesz) continue;
        const std::uint64_t table = strings - segment.p_vaddr + segment.p_offset;
        for (const std::uint64_t name : names) libraries_.push_back(text_at(table + name));
        return;
    }
}

}  // namespace lapwing::tool
