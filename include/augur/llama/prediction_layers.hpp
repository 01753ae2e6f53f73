#pragma once
// Reads layers for multi-token prediction from their target's own file. See docs/llama/draft_checkpoints.md.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/io/files/fingerprint.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/files/safetensors.hpp"
#include "augur/io/files/taken_tensors.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/hugging_face_config.hpp"
#include "augur/llama/lent_parts.hpp"
#include "augur/llama/tensor_names.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// One layer as a model: a decoder of one layer with a fusion, and the target's embedding and head.
struct prediction_layer {
    config configuration;
    weights parameters;
};

/// The layers for multi-token prediction of a folder or file of safetensors. Throws augur::error, naming the file and
/// the values, where it has none, or not as many as it says.
class prediction_layers {
 public:
    explicit prediction_layers(const std::filesystem::path& path) : file_(opened(path)), config_(read_config(file_)) {
        if (config_.prediction_layers == 0) {
            augur::detail::fail(config_origin(),
                                ": the model has no layers for multi-token prediction: num_nextn_predict_layers is ",
                                config_.stored.prediction == nullptr ? "no key of its architecture" : "0");
        }
        const std::size_t stored = stored_prediction_layers(file_, hugging_face_names(config_));
        if (stored == config_.prediction_layers) return;
        augur::detail::fail(config_origin(), ": num_nextn_predict_layers is ", config_.prediction_layers,
                            ", but there are tensors of ", stored, " layers for multi-token prediction");
    }

    std::size_t count() const { return config_.prediction_layers; }

    /// Layer `index` for this target, which was loaded from the same file. Throws where it was not, or where a tensor
    /// is missing or has another shape than the configuration says.
    prediction_layer read(std::size_t index, const host_model& target, weight_format format) const {
        check_target(target);
        prediction_layer out{.configuration = config_, .parameters = {}};
        config& c = out.configuration;
        c.layers = 1;
        c.prediction_layers = 0;
        c.notes.clear();
        const tensor_names names = hugging_face_names(c).of_prediction(index);
        const prediction_layout& how = *c.stored.prediction;
        const weight_reader reader(file_, c, names, format);
        const auto tensor = [&](std::string_view name) { return names.layer_prefix + std::string(name); };
        out.parameters = reader.read_layers({0});
        fusion_weights& fusion = out.parameters.fusion;
        fusion.weight = reader.matrix(tensor(how.projection), c.width, 2 * c.width);
        fusion.embedding_norm = reader.vector(tensor(how.embedding_norm), c.width);
        fusion.hidden_norm = reader.vector(tensor(how.state_norm), c.width);
        fusion.state_first = how.state_first;
        lend_embedding(target, c.embedding_scale, origin(), out.parameters);
        lend_head(target, origin(), out.parameters);
        return out;
    }

 private:
    static const std::filesystem::path& opened(const std::filesystem::path& path) {
        if (io::holds_safetensors(path)) return path;
        augur::detail::fail(path.string(),
                            ": layers for multi-token prediction are read from safetensors; of the architectures that "
                            "are read from GGUF, none has some");
    }

    std::string origin() const { return file_.path().string(); }
    std::string config_origin() const { return file_.config_path().string(); }

    void check_target(const host_model& target) const {
        if (const auto own = io::fingerprint(file_); own != target.fingerprint()) {
            augur::detail::fail(origin(), ": these layers are of the model with the fingerprint ", io::quote(own),
                                ", but the target's is ", io::quote(target.fingerprint()));
        }
        if (target.layer_count() != config_.layers) {
            augur::detail::fail(origin(), ": layers for multi-token prediction follow all ", config_.layers,
                                " layers, but the target was loaded with ", target.layer_count());
        }
        if (!target.taps().empty()) {
            augur::detail::fail(origin(), ": layers for multi-token prediction read the last state, normalised, but ",
                                "the target was loaded to show those after ", target.taps().size(),
                                " of its layers (load_options::taps)");
        }
        if (!config_.positions.empty()) {
            augur::detail::fail(config_origin(), ": the model has sliding windows, and it is not sure whether its ",
                                "layers for multi-token prediction have some");
        }
    }

    io::safetensors_folder file_;
    config config_;
};

}  // namespace augur::llama
