#include "output_file.hpp"

#include <augur/types/error.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace augur::program {

output_file::output_file(std::filesystem::path path) : path_(std::move(path)), part_(path_) {
    std::error_code unknown;  // then opening it says why
    const bool special = std::filesystem::exists(path_, unknown) && !std::filesystem::is_regular_file(path_, unknown);
    if (!special) part_ += ".part";
    file_ = std::fopen(part_.c_str(), "wb");
    if (!file_) refuse();
}

output_file::~output_file() {
    if (!file_) return;
    std::fclose(file_);
    std::error_code ignored;  // a destructor cannot report it
    if (part_ != path_) std::filesystem::remove(part_, ignored);
}

void output_file::write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) refuse();
}

void output_file::commit() {
    if (std::fflush(file_) != 0) refuse();
    std::error_code problem;
    if (part_ != path_) std::filesystem::rename(part_, path_, problem);
    if (problem) detail::fail("cannot rename ", part_.string(), " to ", path_.string(), ": ", problem.message());
    std::fclose(std::exchange(file_, nullptr));
}

void output_file::refuse() const {
    detail::fail("cannot write ", path_.string(), ": ", std::strerror(errno));
}

void print(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0) return;
    detail::fail("cannot write to standard output: ", std::strerror(errno));
}

}  // namespace augur::program
