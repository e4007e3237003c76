#include "lapwing/common/output_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace lapwing::tool {

OutputFile::OutputFile(std::string path, std::string what)
    : path_(std::move(path)), what_(std::move(what)), file_(std::fopen(path_.c_str(), "we")) {
    if (file_ == nullptr) refuse(errno);
}

OutputFile::~OutputFile() {
    if (file_ != nullptr) std::fclose(file_);
}

void OutputFile::write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) refuse(errno);
}

void OutputFile::close() {
    if (std::fclose(std::exchange(file_, nullptr)) != 0) refuse(errno);
}

void OutputFile::refuse(int error) {
    throw Error(ErrorCode::system,
                fmt::format("{} cannot be written to {}: {}", what_, path_, std::strerror(error)));
}

void write_file(const std::string& path, std::string_view text, const std::string& what) {
    OutputFile file(path, what);
    file.write(text);
    file.close();
}

}  // namespace lapwing::tool
