// An error code of the native MPI as an exception.
#pragma once

#include <mpi.h>

#include <string>

#include "base/error.hpp"

namespace lapwing {

class MpiError : public Error {
  public:
    explicit MpiError(int code) : Error(ErrorCode::link, text_of(code)), mpi_code_(code) {}
    int mpi_code() const noexcept { return mpi_code_; }

    // Throws if the code is not MPI_SUCCESS.
    static void check(int code) {
        if (code != MPI_SUCCESS) throw MpiError(code);
    }

  private:
    static std::string text_of(int code) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        PMPI_Error_string(code, text, &length);
        return text;
    }
    int mpi_code_;
};

}  // namespace lapwing
