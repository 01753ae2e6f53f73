#pragma once
// Reads EAGLE layers (EAGLE-1, -2 and -3) from folders as others publish them. See docs/llama/draft_checkpoints.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/files/json_reader.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/files/safetensors.hpp"
#include "augur/io/files/taken_tensors.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/hugging_face_config.hpp"
#include "augur/llama/lent_parts.hpp"
#include "augur/llama/pruned_vocabulary.hpp"
#include "augur/llama/tensor_names.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// The layer, and what makes its inputs of the states that the target shows.
struct published_layer {
    config configuration;
    weights parameters;
    backend::host::packed_matrix reduction;           ///< width by taps times width; EAGLE-1 has none
    std::vector<std::vector<float>> reduction_norms;  ///< one of all taps, one of each, or none
};

/// A folder with config.json and safetensors: the layout of EAGLE's authors, or that of speculators. Throws
/// augur::error, naming the file and the values, where it is neither, or says something that is not understood.
class published_eagle {
 public:
    explicit published_eagle(const std::filesystem::path& path)
        : file_(path), origin_(file_.config_path().string()), prefix_(prefix_of_layer()) {
        read_own_keys();
    }

    bool is_eagle3() const { return is_eagle3_; }

    /// After which layers of a target that has so many it reads the states: those that config.json names, or as a rule
    /// 2, half of them, and all but 3. Empty for EAGLE-1, which reads the normalised last one.
    std::vector<std::size_t> taps(std::size_t layers) const {
        if (!is_eagle3_) return {};
        std::vector<std::size_t> out = named_taps_;
        if (out.empty() && layers >= 3) out = {2, layers / 2, layers - 3};
        const bool is_ascending = std::adjacent_find(out.begin(), out.end(), std::greater_equal<>()) == out.end();
        if (out.empty() || !is_ascending || out.back() > layers) {
            std::string all;
            for (const std::size_t tap : out) all += (all.empty() ? "" : ", ") + std::to_string(tap);
            augur::detail::fail(origin_, ": the layer reads states after the layers {", all, "}",
                                named_taps_.empty() ? ", as a rule" : ", as eagle_aux_hidden_state_layer_ids says",
                                ", but the target has ", layers, " layers", made_for());
        }
        return out;
    }

    /// Everything, for this target, which shows the states after taps(layers).
    published_layer read(const host_model& target, weight_format format) const {
        published_layer out{
            .configuration = configuration(target), .parameters = {}, .reduction = {}, .reduction_norms = {}};
        const config& c = out.configuration;
        const io::tracked_file tensors(file_);
        const weight_reader reader(tensors, c, names(c), format);
        out.parameters = reader.read_layers({0});
        lend_embedding(reader, target, out.parameters);
        if (is_eagle3_) {
            read_eagle3(tensors, reader, target, out);
        } else {
            fusion_weights& fusion = out.parameters.fusion;
            fusion.weight = reader.matrix("fc.weight", c.width, 2 * c.width);
            if (has_bias_) fusion.bias = reader.vector("fc.bias", c.width);
            lend_head(target, file_.path().string(), out.parameters);
        }
        tensors.check_all_read();
        return out;
    }

 private:
    using tracked = io::tracked_file<io::safetensors_folder>;
    using tensor_reader = weight_reader<tracked>;

    std::string prefix_of_layer() const {
        for (const char* const prefix : {"midlayer.", "layers.0."}) {
            if (file_.find(std::string(prefix) + "self_attn.q_proj.weight")) return prefix;
        }
        const auto all = file_.tensors();
        augur::detail::fail(file_.path().string(),
                            ": there is neither midlayer.self_attn.q_proj.weight nor layers.0.self_attn.q_proj.weight, "
                            "as EAGLE layers have",
                            all.empty() ? "" : ", but " + io::quote(all.front().name));
    }

    /// Those that say how the layer is used; the rest describe it as they would a Llama.
    void read_own_keys() {
        const io::json_reader in(file_.config(), origin_);
        is_eagle3_ = file_.find(prefix_ + "hidden_norm.weight") != nullptr;
        const auto kind = in.value_or<std::string>("speculators_model_type", is_eagle3_ ? "eagle3" : "eagle");
        if (kind != (is_eagle3_ ? "eagle3" : "eagle")) {
            augur::detail::fail(origin_, ": speculators_model_type is ", io::quote(kind),
                                ", but the tensors are those of ", is_eagle3_ ? "an eagle3" : "an eagle");
        }
        layer_ = file_.config();
        if (const auto inside = in.object("transformer_layer_config")) {
            check_outer_keys();
            layer_ = inside->value();
        }
        for (const std::string_view key : own_keys) layer_.erase(std::string(key));
        draft_vocabulary_ = in.value_or<std::size_t>("draft_vocab_size", 0);
        target_width_ = in.value_or<std::size_t>("target_hidden_size", 0);
        normed_residual_ = in.value_or<bool>("norm_before_residual", false);
        norm_of_all_ = in.value_or<bool>("norm_before_fc", false);
        norm_of_each_ = in.value_or<bool>("fc_norm", false);
        normed_states_ = in.value_or<bool>("norm_output", false);
        named_taps_ = in.value_or<std::vector<std::size_t>>("eagle_aux_hidden_state_layer_ids", {});
        if (norm_of_all_ && norm_of_each_) augur::detail::fail(origin_, ": norm_before_fc and fc_norm are both true");
        has_bias_ = file_.find("fc.bias") != nullptr;
        if (!is_eagle3_) {
            const bool said = in.value_or<bool>("bias", has_bias_);
            if (said != has_bias_) {
                augur::detail::fail(origin_, ": bias is ", said ? "true" : "false", ", but there is ",
                                    has_bias_ ? "a" : "no", " tensor fc.bias");
            }
            layer_.erase("bias");
        }
        check_eagle_config(in);
        if (const auto made = in.object("speculators_config")) {
            if (const auto verifier = made->object("verifier")) {
                verifier_ = verifier->value_or<std::string>("name_or_path", "");
            }
        }
    }

    /// Of speculators' layout, where the layer's own keys are in an object.
    void check_outer_keys() const {
        for (const auto& [key, value] : file_.config().items()) {
            const bool is_own = std::find(std::begin(own_keys), std::end(own_keys), key) != std::end(own_keys);
            const auto& idle = detail::json_keys_idle;
            const bool is_idle = std::find(std::begin(idle), std::end(idle), key) != std::end(idle);
            if (value.is_null() || is_own || is_idle || key == "model_type" || key == "tie_word_embeddings") continue;
            augur::detail::fail(origin_, ": ", key, " is ", io::shown(value),
                                ", which is not understood, and may change what the layer computes");
        }
    }

    /// What some files say beside: engines count the layers in it differently.
    void check_eagle_config(const io::json_reader<>& in) const {
        const auto inside = in.object("eagle_config");
        if (!inside) return;
        for (const auto& [key, value] : inside->value().items()) {
            const bool is_usual = key == "use_mtp_layernorm" ? value == false
                                  : key == "eagle_aux_hidden_state_layer_ids"
                                      ? value.is_null() || (value.is_array() && value.empty())
                                      : (key == "use_aux_hidden_state" || key == "use_input_layernorm_in_first_layer" ||
                                         key == "use_last_layernorm" || key == "next_layer_regular") &&
                                            value == true;
            if (is_usual) continue;
            augur::detail::fail(origin_, ": in eagle_config ", key, " is ", io::shown(value),
                                ", which is not supported; say eagle_aux_hidden_state_layer_ids outside of it");
        }
    }

    std::string made_for() const { return verifier_.empty() ? "" : "; the layer was made for " + io::quote(verifier_); }

    config configuration(const host_model& target) const {
        config c = read_config(layer_, origin_, true);
        const config& of = target.configuration();
        const auto same = [&](const char* what, std::size_t own, std::size_t others) {
            if (own == others) return;
            augur::detail::fail(origin_, ": ", what, " is ", own, ", but the target's is ", others, made_for());
        };
        same("the width", c.width, of.width);
        if (target_width_ != 0) same("target_hidden_size", target_width_, of.width);
        if (c.vocabulary != of.stored_rows()) same("the vocabulary", c.vocabulary, of.vocabulary);
        if (c.layers != 1) {
            augur::detail::fail(origin_, ": num_hidden_layers is ", c.layers, "; layers that draft with one are read");
        }
        const std::vector<std::size_t> wanted = taps(of.layers);
        if (wanted != target.taps()) {
            std::string all;
            for (const std::size_t tap : wanted) all += (all.empty() ? "" : ", ") + std::to_string(tap);
            augur::detail::fail(origin_, ": the layer reads the target's states after ",
                                wanted.empty() ? std::string("all layers, normalised") : "the layers " + all,
                                ", but the target was loaded to show ",
                                target.taps().empty() ? "the last one alone" : "others", " (load_options::taps)");
        }
        c.padded_vocabulary = of.padded_vocabulary;
        c.vocabulary = of.vocabulary;
        c.vocabulary_fingerprint = target.vocabulary_fingerprint();
        c.wide_first_layer = is_eagle3_;
        return c;
    }

    tensor_names names(const config& c) const {
        tensor_names out = hugging_face_names(c);
        out.embedding = "embed_tokens.weight";
        out.head = "lm_head.weight";
        out.final_norm = is_eagle3_ ? "norm.weight" : "";
        out.layer_prefix = prefix_;
        out.numbers_layers = false;
        out.attention_norm = "";
        return out;
    }

    /// Its own, or else the target's.
    void lend_embedding(const tensor_reader& reader, const host_model& target, weights& out) const {
        if (file_.find("embed_tokens.weight") == nullptr) {
            llama::lend_embedding(target, 1, file_.path().string(), out);
        } else {
            out.embedding = reader.shared_token_rows("embed_tokens.weight");
        }
    }

    void read_eagle3(const tracked& tensors, const tensor_reader& reader, const host_model& target,
                     published_layer& out) const {
        const std::size_t width = out.configuration.width, count = target.taps().size();
        fusion_weights& fusion = out.parameters.fusion;
        fusion.is_wide = true;
        fusion.normed_residual = normed_residual_;
        fusion.shows_unnormed = !normed_states_;
        fusion.embedding_norm = reader.vector(prefix_ + "input_layernorm.weight", width);
        fusion.hidden_norm = reader.vector(prefix_ + "hidden_norm.weight", width);
        out.reduction = reader.matrix("fc.weight", width, count * width);
        if (norm_of_all_) out.reduction_norms.push_back(reader.vector("input_norm.weight", count * width));
        for (std::size_t i = 0; norm_of_each_ && i < count; ++i) {
            out.reduction_norms.push_back(reader.vector("fc_norm." + std::to_string(i) + ".weight", width));
        }
        for (const char* const name : {"d2t", "t2d"}) tensors.pass_over(name);
        const pruned_vocabulary pruned = read_pruned_vocabulary(file_, draft_vocabulary_, out.configuration.vocabulary);
        out.parameters.head_tokens = pruned.ids;
        out.parameters.head = pruned.ids.empty()
                                  ? reader.token_rows("lm_head.weight")
                                  : reader.matrix("lm_head.weight", pruned.ids.size(), width, pruned.rows);
    }

    static constexpr std::string_view own_keys[] = {
        "draft_vocab_size",   "target_hidden_size",       "eagle_aux_hidden_state_layer_ids",
        "norm_before_fc",     "norm_before_residual",     "fc_norm",
        "norm_output",        "embed_requires_grad",      "eagle_config",
        "speculators_config", "speculators_model_type",   "speculators_version",
        "target_model_type",  "transformer_layer_config", "has_no_defaults_at_init",
    };

    io::safetensors_folder file_;
    std::string origin_, prefix_;
    nlohmann::json layer_{};  ///< what describes the layer alone
    bool is_eagle3_ = false, normed_residual_ = false, norm_of_all_ = false, norm_of_each_ = false,
         normed_states_ = false, has_bias_ = false;
    std::size_t draft_vocabulary_ = 0, target_width_ = 0;  ///< 0: not said
    std::vector<std::size_t> named_taps_{};
    std::string verifier_{};
};

}  // namespace augur::llama
