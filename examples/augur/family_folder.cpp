#include "family_folder.hpp"

#include <filesystem>
#include <system_error>

namespace augur::program {

std::string family_folder() {
    namespace fs = std::filesystem;
    std::error_code unknown;
    if (fs::is_directory(AUGUR_FAMILY_DIRECTORY, unknown)) return AUGUR_FAMILY_DIRECTORY;
    const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
    return unknown ? AUGUR_FAMILY_DIRECTORY : (program.parent_path().parent_path() / "share/augur/family").string();
}

}  // namespace augur::program
