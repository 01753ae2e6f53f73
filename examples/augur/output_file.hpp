#pragma once
// Files and standard output that are written whole or not at all, or whose failure is an error.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace augur::program {

/// Writes to FILE.part, which commit() renames to FILE; without commit() nothing is left. What exists and is no regular
/// file (a pipe, a device) is written directly. Throws, with the system's reason, for whatever cannot be done.
class output_file {
 public:
    explicit output_file(std::filesystem::path path);
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;
    ~output_file();

    void write(std::string_view bytes);
    void commit();

 private:
    [[noreturn]] void refuse() const;

    std::filesystem::path path_;
    std::filesystem::path part_;
    std::FILE* file_;
};

/// Writes to standard output, at once. Throws, with the system's reason, when it cannot.
void print(std::string_view bytes);

}  // namespace augur::program
