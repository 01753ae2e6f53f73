#pragma once
// Where the draft bundles are that come with augur.

#include <string>

namespace augur::program {

/// examples/family of the source folder that the program was built from, if that is there; else share/augur/family
/// beside the folder that the program is installed in.
std::string family_folder();

}  // namespace augur::program
