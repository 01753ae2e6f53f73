#pragma once
// The verifier of `augur learn` that learns, too: DVI's slow updates. It is another target than the model.

#include <augur/llama/host_model.hpp>
#include <augur/train/packed_weight_matrix.hpp>
#include <augur/train/slow_updates.hpp>
#include <augur/train/state_file.hpp>
#include <augur/train/state_head.hpp>
#include <augur/train/updated_verifier.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine.hpp"

namespace augur::program {

struct slow_verifier_options {
    std::optional<train::slow_target> target{};  ///< what it is trained on; unset: it does not learn
    std::size_t rank = 8;                        ///< of the update of its output head
    train::slow_options updates{};
    std::string file{};   ///< it goes on from there; empty: from the model
    std::string texts{};  ///< a file of texts that it is scored on beside the model; empty: none
    std::string named{};  ///< the last flag that was given of all but `target`
};

/// Throws, by the options' names, where one is out of its range or given to a verifier that does not learn, and where
/// `scheme` is none whose verifier does.
void check(const slow_verifier_options& chosen, const std::string& scheme);

/// The model with an output head of its own, which starts as the model's and is updated between texts. Whatever is
/// promised of a text, it is promised of the verifier as it was during that text. The model must outlive it.
/// Cost: the model's output product twice for each row; train::slow_updates has that of a period, and the memory.
class slow_verifier {
 public:
    /// How well a model says texts that are given, token after token.
    struct text_score {
        std::size_t tokens = 0;
        double perplexity = 1, first_choice = 0;  ///< share of the tokens that are its most probable ones
    };

    using head_type = train::state_head<train::packed_weight_matrix>;

    /// Throws, with both values, where the file is of another model or rank, or damaged.
    slow_verifier(const llama::host_model& model, const slow_verifier_options& chosen);
    slow_verifier(const slow_verifier&) = delete;
    slow_verifier& operator=(const slow_verifier&) = delete;

    /// Texts to score both on: the model now, the verifier now and after each period that is kept. Throws where none
    /// has two tokens, and where a row is none.
    void score_on(std::vector<std::vector<token>> texts);

    const engine& target() const { return target_; }
    /// A round of one of its texts.
    void watch(const auto& view) { slow_.watch(view); }
    /// A period of updates, if one is due. What became of it; nothing where none was.
    std::string between_texts();

    /// Written beside and renamed when it is whole.
    void save(const std::string& path) const;

    nlohmann::ordered_json settings() const;
    nlohmann::ordered_json report() const;

 private:
    train::state_identity identity_;
    head_type head_;
    train::vector<float> frozen_;  ///< the numbers of a head that is the model's own
    train::updated_verifier<llama::host_model, head_type> updated_;
    engine target_;
    train::slow_updates<head_type> slow_;
    const llama::host_model& model_;
    std::vector<std::vector<token>> texts_{};
    text_score own_{}, models_{};
};

/// Shows rounds to a verifier, where one learns.
struct slow_watcher {
    slow_verifier* verifier;

    void watch(const auto& view) {
        if (verifier != nullptr) verifier->watch(view);
    }
};

}  // namespace augur::program
