#pragma once
// A model that reads the same text as the target: a file, or a draft checkpoint of the target's draft bundle by its
// name.

#include <augur/llama/host_model.hpp>
#include <string>

namespace augur::program {

struct smaller_model {
    std::string path;
    llama::host_model model;
};

/// `named`: a file, or draft, exit or qualifier of the target's draft bundle where no file has that name. Throws,
/// naming
/// `flag`, where there is none, or it has other tokens than the target.
smaller_model load_smaller(const std::string& flag, const std::string& named, const llama::host_model& target,
                           const std::string& target_path, const llama::load_options& options);

}  // namespace augur::program
