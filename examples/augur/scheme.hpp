#pragma once
// The one place where what was chosen at run time becomes a scheme's type.

#include <augur/decode/generate.hpp>
#include <augur/draft/grow_tree.hpp>
#include <augur/io/files/bank_file.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/hysteresis.hpp>
#include <augur/policy/learned_state.hpp>
#include <augur/train/diagnostics.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "draft_checkpoints.hpp"
#include "engine.hpp"

namespace augur::program {

/// What the user chose; empty names mean that the program chooses.
struct scheme_options {
    std::string scheme = "auto";
    std::string accept{};
    std::optional<std::size_t>
        length{};  ///< unset: 4 with sd and hysteresis, 6 with kangaroo, 2 with fsd, the bins' with eaad, none with ead, else
                   ///< what pays
    std::optional<std::size_t> max_k{};  ///< eaad: the most; unset: 4 with eaad_as_published, else none
    std::vector<double> bin_edges_nats = {0.5, 1.5, 2.5};
    std::vector<std::size_t> bin_lengths = {4, 3, 2, 1};
    bool learn_bins = false;  ///< eaad: the edges move while it decodes
    std::size_t lookup_min = 1;
    std::size_t lookup_max = 8;
    std::vector<double> thresholds{};               ///< unset: what the scheme starts with, or the bank's
    std::optional<float> divergence_temperature{};  ///< with accept fuzzy_greedy; unset: 1
    std::optional<double> epsilon{}, delta{};       ///< with accept typical; unset: the criterion's own
    std::string divergence{};                       ///< fsd, psd_*: of rows; empty: total_variation
    std::string signal{};                           ///< eaad, hysteresis: what decides; empty: draft_entropy
    std::size_t window = 5;                         ///< ead
    std::size_t dwell = 10;                         ///< ead
    std::vector<std::size_t> lengths{};             ///< psd_*, cascade: of each model but the last; unset: the scheme's
    std::optional<std::size_t> exit_layer{};        ///< kangaroo: layers that draft; unset: near three quarters
    std::string adapter{};                          ///< kangaroo, dvi, medusa, hydra, eagle: what learn wrote
    bool untrained = false;                         ///< kangaroo: with the model's own norm and output
    std::optional<topology> tree{};                 ///< drafted every round; unset: a chain
    std::optional<draft::dynamic_tree> dynamic{};   ///< the tree that the draft's rows suggest, anew every round
    std::string bank_path{};                        ///< entmtp, and hydra and medusa with a tree of the bank
    std::string tree_policy{};                      ///< entmtp: hysteresis or ladder; empty: hysteresis
    std::string tree_feature{};                     ///< entmtp: what switches trees; empty: what the bank says
    bool automatic_tree = false;                    ///< the bank's fastest, or without one what pays
    std::optional<io::bank_file> bank{};            ///< what is there, once the heads are known
    bool has_grammar = false;                       ///< texts are of one, as forced needs
    std::map<std::string, std::string> given{};     ///< options of option_schemes that were named, as text
};

/// The same with every choice made that does not depend on the target: `auto` stays where no file is named. Throws
/// where a name is unknown or not available, or the scheme cannot be composed with these settings and this many draft
/// models. `named`: the files that the user names.
scheme_options resolve(scheme_options chosen, const transform::settings& sampling, std::size_t drafts,
                       const checkpoint_files& named);

/// Whether the scheme need not promise the target's text or its distribution: fsd, psd_*, cascade and ead.
bool is_lossy(const std::string& scheme);

/// What `auto` is for a target whose draft bundle has the draft checkpoint that this drafts with; else it is lookup.
std::string auto_scheme(const scheme_options& chosen);

/// Reads the scheme's bank, if it names one. Throws where it was grown for others than these.
void load_bank(scheme_options& into, const io::bank_identity& here);

/// Whether the scheme drafts chains of as many tokens as pay.
bool drafts_what_pays(const scheme_options& resolved);

/// The draft checkpoints of a draft bundle that a scheme drafts with, in order; after an ngram the others are used only
/// where there are some. Of those of entmtp and merged one is used: that is named, else the first that there is.
std::vector<std::string> members_used_by(const std::string& scheme);

struct bridged_side;

/// What the verifier's row, before any transform, said of a token that was committed.
struct row_reading {
    double entropy_nats;
    double probability;  ///< of the token
    bool top;            ///< no other token is more probable
};

/// What a stage inside a cascade did in one round.
struct stage_round {
    std::size_t rounds, drafted, accepted;
};

/// One finished round, whatever the scheme.
struct round_summary {
    std::size_t position;  ///< tokens before it, prompt included
    std::vector<token> drafted;
    std::vector<std::int32_t> parents;  ///< of the drafted; none where they are a chain
    verdict decided;
    std::vector<commit::committed_token> committed;
    time_spent seconds;
    observation decided_on{};             ///< what the policy saw last before the pass
    std::optional<std::size_t> tree{};    ///< its place in the bank, where there is one
    std::optional<std::size_t> writer{};  ///< whose rows they are, where models take turns; 0 is the cheapest
    std::vector<stage_round> inside{};    ///< of a cascade's stages but the last
    std::vector<row_reading> readings{};  ///< of the committed tokens, where the request reads rows
};

/// What learned while it drafted, and its acceptance in parts of the text, one after the other.
struct learner_summary {
    train::diagnostics last;
    std::size_t rounds_a_part;
    std::vector<stage_statistics::at_position> parts;  ///< drafted and accepted
};

/// What the policy of a bank of trees did, by places in the bank.
struct bank_summary {
    std::vector<std::size_t> rounds;
    std::size_t switches;
};

struct run_result;

struct run_request {
    std::span<const token> prompt;
    decode::options options;
    std::function<void(const round_summary&)> on_round;  ///< may be empty
    std::vector<double> verify_seconds{};                ///< of passes over 1, 2, ... rows, for a length that pays
    bool measures_divergence = false;                    ///< of schemes that are not lossless
    /// Of a conversation: told of an answer, the tokens that follow it, before the next; none end it. May be empty.
    std::function<std::vector<token>(const run_result&)> next_turn{};
    policy::learned_state known{};  ///< to the policy of a scheme that drafts what pays
    bool reads_rows = false;        ///< on_round is shown readings
    /// Of ead, where models have other vocabularies: each one's side, cheapest first; prompt and the options' stop
    /// tokens, marks and text_of are then not used.
    const std::vector<bridged_side>* bridge = nullptr;
};

/// Entropy bins after a run: one edge less than the others have.
struct bins_summary {
    std::vector<double> edges_nats;
    std::vector<std::size_t> lengths;
    std::vector<policy::bin_statistics> bins;
};

/// A finished decoding, whatever the scheme. The seconds leave out what the sink of the options took.
struct run_result {
    std::vector<token> ids;
    std::vector<origin> origins;
    std::vector<std::size_t> writers{};  ///< of ead: the model of each id, 0 the cheapest
    std::string text;
    finish_reason finish = finish_reason::running;
    std::string detail;
    statistics counts;
    std::string guarantee;
    std::string policy;
    std::optional<bins_summary> bins;
    std::optional<policy::hysteresis_counts> switches;
    std::optional<bank_summary> trees{};
    std::optional<learner_summary> learner{};        ///< of dvi
    std::optional<policy::learned_state> learned{};  ///< by the policy of a scheme that drafts what pays
    std::optional<double> allowance{};               ///< passes of plain decoding that this policy could still lose
    std::size_t cache_bytes = 0;
    double divergence = 0;         ///< summed over the text, where it was asked for
    std::size_t context_left = 0;  ///< of a conversation: tokens that there is room for

    double tokens_per_second() const {
        return ids.empty() ? 0 : static_cast<double>(ids.size()) / counts.seconds.decoding();
    }
};

/// Decodes by a resolved scheme, for which the draft checkpoints that it uses are loaded. Throws augur::error, also
/// where the model's logits were invalid.
run_result run(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
               const run_request& request);

}  // namespace augur::program
