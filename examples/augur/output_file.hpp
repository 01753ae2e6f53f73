#pragma once
// Files and standard output that are written whole or not at all, or whose failure is an error.

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace augur::program {

/// Writes to a new file beside FILE, which commit() renames to FILE once it is on the disk; without commit() nothing is
/// left, not even where a signal ends the program (SIGKILL leaves .augur-PROCESS-N.part). A link is followed, also to a
/// file that is not there yet. What exists and is no regular file (a pipe, a device) is written directly. Throws, with
/// the system's reason, for whatever cannot be done.
class output_file {
 public:
    explicit output_file(std::filesystem::path path);
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;
    ~output_file();

    void write(std::string_view bytes);
    void commit();

 private:
    void create_beside();
    [[noreturn]] void refuse() const;

    std::filesystem::path path_, target_;  ///< as named, and where links lead from there
    std::filesystem::path part_;           ///< empty where the target is written directly
    std::FILE* file_ = nullptr;
};

/// Creates a file that is not there yet, which a signal that ends the program removes until it is told to leave it, on
/// whichever thread. Opened for writing; -1 and `errno` as open(2) gives them where it cannot.
int create_removed_on_signals(const std::filesystem::path& part);
/// Once a signal ends the program, this does not return.
void leave_on_signals(const std::filesystem::path& part);

/// Where links lead from here, whether or not a file is there; the path itself where they go round in a circle.
std::filesystem::path followed(const std::filesystem::path& path);

/// The same file, by device and inode, or the same name in the same folder where links lead.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Throws, naming the flag, unless an output_file can be written there that is none of these files, nor one
/// of the model's that is in a folder named here. Nothing is left behind, and what is there is not changed.
void check_output(const std::string& flag, const std::filesystem::path& path,
                  const std::vector<std::filesystem::path>& inputs);

/// Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed, so that no file is opened under these
/// numbers; reading and writing fail as they would where they are closed. A file that grows beyond a limit is an error
/// from now on, no signal.
void open_standard_streams();

/// Throws where standard output is closed, so that nothing is computed to be lost.
void check_standard_output();

/// Writes to standard output, at once. Throws, with the system's reason, when it cannot.
void print(std::string_view bytes);

}  // namespace augur::program
