#include "recording/stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "recording/codec.hpp"

namespace lapwing::recording {
namespace {

constexpr std::uint64_t tail_interval = 10'000'000'000;

std::string as_bytes(const auto& header) {
    return {reinterpret_cast<const char*>(&header), sizeof header};
}

StreamHeader header_of(const char* magic, std::uint64_t began, std::uint64_t before) {
    StreamHeader header{{}, began, before};
    std::memcpy(header.magic, magic, sizeof header.magic);
    return header;
}

std::string as_block(std::span<const Folding::Element> elements) {
    const std::string bytes = encode(elements);
    return as_bytes(BlockHeader{bytes.size(), fingerprint_of(bytes)}) + bytes;
}

int create(const std::string& path) {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

// Returns 0, or errno.
int put(int file, std::string_view bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? errno : ENOSPC;
        bytes.remove_prefix(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return 0;
}

}  // namespace

Stream::Stream(std::string path, std::uint64_t began, std::size_t window)
    : path_(std::move(path)), began_(began), next_tail_(began + tail_interval / 10), folding_(window) {
    const std::string name = path_ + ".calls";
    file_ = create(name);
    if (file_ < 0) throw_system(fmt::format("cannot write the recording to {}", name));
    error_ = put(file_, as_bytes(header_of(StreamHeader::magic_of_calls, began_, 0)), 0);
    if (error_ != 0) throw_system(fmt::format("cannot write the recording to {}", name), error_);
    written_ = sizeof(StreamHeader);
}

Stream::~Stream() {
    if (file_ >= 0) ::close(file_);
}

void Stream::add(const Call& call, const Time& time, bool fruitless, std::uint64_t now) {
    if (error_ != 0) return;
    if (fruitless) {
        encode(call, encoded_);
        if (encoded_ != polls_) {
            flush_polls();
            polls_ = encoded_;
        }
        polls_time_ += time;
        ++polls_time_.polls;
    } else {
        Time whole = time;
        if (!polls_.empty()) {
            Call before = call;
            before.completed = 0;
            encode(before, encoded_);
            if (encoded_ == polls_) {
                polls_.clear();
                whole += std::exchange(polls_time_, {});
            } else {
                flush_polls();
            }
        }
        encode(call, encoded_);
        append(encoded_, whole);
    }
    if (now >= next_tail_) {
        write_tail();
        next_tail_ = now + tail_interval;
    }
}

std::string Stream::close() {
    if (file_ < 0) return {};
    flush_polls();
    while (!folding_.elements().empty() && error_ == 0) write_oldest();
    if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
    if (error_ != 0) return fmt::format("{}.calls: {}", path_, std::strerror(error_));
    ::unlink((path_ + ".tail").c_str());
    return {};
}

// A call that has found nothing complete, after which the program has done something else.
void Stream::flush_polls() {
    if (polls_.empty()) return;
    Time time = std::exchange(polls_time_, {});
    --time.polls;
    append(std::exchange(polls_, {}), time);
}

void Stream::append(std::string_view encoded, const Time& time) {
    folding_.add(encoded, time);
    if (folding_.is_full()) write_oldest();
}

void Stream::write_oldest() {
    const std::string block = as_block(folding_.take_oldest());
    if (error_ == 0) error_ = put(file_, block, written_);
    written_ += block.size();
}

void Stream::write_tail() {
    const std::string temporary = path_ + ".next";
    const int file = create(temporary);
    if (file < 0) return;
    const bool written = put(file,
                             as_bytes(header_of(StreamHeader::magic_of_tail, began_, written_)) +
                                 as_block(folding_.elements()),
                             0) == 0;
    ::close(file);
    if (!written || ::rename(temporary.c_str(), (path_ + ".tail").c_str()) != 0) ::unlink(temporary.c_str());
}

}  // namespace lapwing::recording
