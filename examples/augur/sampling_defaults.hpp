#pragma once
// How a conversation is sampled where the user does not say: as the model's own files ask for.

#include <augur/transform/pipeline.hpp>
#include <cstddef>
#include <optional>
#include <set>
#include <string>

namespace augur::program {

struct sampling_defaults {
    std::optional<float> temperature{}, top_p{}, min_p{}, repetition{};
    std::optional<std::size_t> top_k{};
    std::string source{};  ///< the file

    /// Whether it says how to choose among tokens; a penalty alone does not.
    bool say_how() const { return temperature || top_p || min_p || top_k; }
};

/// Of a GGUF file `general.sampling.temp`, `.top_k`, `.top_p`, `.min_p` and `.penalty_repeat`; of safetensors what
/// generation_config.json beside them says: where `do_sample` is true and no temperature is there it is 1, where it is
/// false 0. Throws, naming file and key, for another type and a value that no text is sampled by.
sampling_defaults read_sampling_defaults(const std::string& model_path);

/// Sets what is not `given`, by the names of the options: as the model's files say, and where they do not say how,
/// temperature 0.7, and top-p 0.9 unless a temperature or a cut is given. A given temperature of 0 is greedy, and
/// nothing is set. The note that says so, empty where nothing was set.
std::string take_sampling_defaults(transform::settings& into, const std::set<std::string>& given,
                                   const std::string& model_path);

}  // namespace augur::program
