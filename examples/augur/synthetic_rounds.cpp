#include "synthetic_rounds.hpp"

#include <algorithm>
#include <augur/detail/stopwatch.hpp>
#include <augur/llama/memory.hpp>
#include <augur/model/pass.hpp>
#include <span>
#include <utility>

namespace augur::program {
namespace {

constexpr std::size_t head_tokens = 4096;                          ///< that draft checkpoints draft among
constexpr std::size_t head_count = 4;                              ///< of heads on the hidden state
constexpr std::uint64_t beyond_caches = std::uint64_t{512} << 20;  ///< bytes of different layers
constexpr std::size_t room = 64;                                   ///< tokens of a round

/// Layers that have to be different for caches not to hold them.
std::size_t layers_beyond_caches(const llama::config& c, backend::host::storage format) {
    const std::uint64_t layer = std::max<std::uint64_t>(1, llama::stored_bytes(format, layer_parameters(c)));
    return std::min<std::size_t>(c.layers, static_cast<std::size_t>(beyond_caches / layer) + 2);
}

/// As the program holds a draft bundle's that draft for lossless schemes, where the shape has whole blocks.
backend::host::storage format_of_checkpoints(const llama::config& c, backend::host::storage otherwise) {
    constexpr auto format = backend::host::storage::q4_0;
    const std::size_t block = backend::host::layout_of(format).file_depth;
    const bool has_blocks = c.width % block == 0 && c.feed_forward % block == 0 && c.heads * c.head_size % block == 0;
    return has_blocks ? format : otherwise;
}

/// Bytes of all weights and caches, about.
std::uint64_t bytes_needed(const llama::config& c, const synthetic_request& asked, std::size_t different) {
    const std::uint64_t width = c.width, layer = layer_parameters(c);
    const std::uint64_t head = std::min(head_tokens, c.vocabulary) * width;
    const std::uint64_t own = different * layer + width * c.vocabulary;
    std::uint64_t parameters = 0;
    if (asked.drafters.contains("draft")) parameters += 2 * layer + head;
    if (asked.drafters.contains("eagle")) parameters += layer + 2 * width * width + head;
    if (asked.drafters.contains("hydra")) parameters += (2 + 3 + 4 + 5) * width * width + head;
    if (asked.drafters.contains("medusa")) parameters += 4 * width * width + head;
    const std::uint64_t weights = llama::stored_bytes(asked.weights, own) +
                                  llama::stored_bytes(format_of_checkpoints(c, asked.weights), parameters);
    const std::uint64_t keys = 2 * c.layers * c.key_value_heads * c.head_size * sizeof(float);
    return weights / 100 * 105 + keys * (asked.context + 256);
}

}  // namespace

synthetic_rounds::synthetic_rounds(const synthetic_request& asked) : asked_(asked) {
    const llama::config c = synthetic_config(asked.shape, asked.vocabulary, asked.context + room);
    different_ = layers_beyond_caches(c, asked.weights);
    const std::uint64_t needed = bytes_needed(c, asked, different_);
    if (const std::uint64_t there = llama::available_memory(); needed > there) {
        detail::fail("the weights of ", different_, " layers of ", asked.shape.text(), " in ", name_of(asked.weights),
                     " and what drafts for them take ", needed, " bytes, more than the ", there, " that are available");
    }
    synthetic_weights make(c, asked.weights);
    llama::load_options options{.threads = asked.threads};
    target_.emplace(c, make.model(different_), options);
    options.pool = target_->pool();
    synthetic_weights checkpoints(c, format_of_checkpoints(c, asked.weights), 2);
    make_drafters(c, checkpoints, options);
    for (std::size_t i = 0; i < asked.context + room; ++i) {
        text_.push_back(static_cast<token>((i * 7919 + 13) % asked.vocabulary));
    }
    states_.assign((asked.context + room) * c.width, 0.01f);
    row_.resize(asked.vocabulary);
    const auto before = std::span<const token>(text_).first(asked.context);
    target_->extend(of_target_.emplace(target_->make_sequence()), before, 0);
    if (draft_) draft_->extend(of_draft_.emplace(draft_->make_sequence()), before, 0);
    if (!eagle_) return;
    const auto states = std::span<const float>(states_).first(before.size() * c.width);
    eagle_->extend(of_eagle_.emplace(eagle_->make_sequence()), before, states, 0);
}

void synthetic_rounds::make_drafters(llama::config c, synthetic_weights& make, const llama::load_options& options) {
    const llama::weights& weights = target_->parameters();
    const auto& wanted = asked_.drafters;
    c.layers = 2;
    if (wanted.contains("draft")) draft_.emplace(c, make.draft(weights, 2, head_tokens), options);
    c.layers = 1;
    if (wanted.contains("eagle")) eagle_.emplace(c, make.eagle(weights, head_tokens), options);
    for (const std::string kind : {"hydra", "medusa"}) {
        if (!wanted.contains(kind)) continue;
        llama::weights output = make.draft(weights, 0, head_tokens);
        heads_.try_emplace(kind, make.heads(head_count, kind == "hydra"), *target_, std::move(output.head_tokens),
                           std::move(output.head), options);
    }
    if (wanted.contains("exit")) exit_ = llama::host_exit::untrained(*target_, asked_.exit_layer, options);
}

void synthetic_rounds::draft(const std::string& drafter, std::size_t count) {
    const std::size_t width = target_->hidden_size();
    const auto tokens = std::span<const token>(text_);
    const auto states = std::span<const float>(states_);
    for (std::size_t i = 0; i < count; ++i) {
        if (drafter == "draft") {
            draft_->extend(*of_draft_, tokens.first(1), 1);
        } else if (drafter == "eagle") {  // which first reads what was accepted, and the token after it
            const std::size_t rows = i == 0 ? 2 : 1;
            eagle_->extend(*of_eagle_, tokens.first(rows), states.first(rows * width), 1);
        } else if (auto heads = heads_.find(drafter); heads != heads_.end()) {
            const std::size_t head = std::min(i, head_count - 1);
            heads->second.row(workspace_, states.first(width), tokens.first(head + 1), head);
        } else if (drafter == "exit") {
            const pass<llama::sequence> shallow{
                .sequence = &*of_target_, .tokens = tokens.first(1), .to_layer = exit_->layer()};
            target_->run(std::span(&shallow, 1));
            const auto hidden = target_->hidden(*of_target_);
            exit_->row(hidden[hidden.size() - 1], row_);
        }
    }
}

double synthetic_rounds::run(const synthetic_round& round) {
    if (round.rows == 0 || round.rows > room || round.drafted + 1 > room) {
        detail::fail("a round of ", round.drafted, " drafted tokens and ", round.rows, " rows; there is room for ",
                     room);
    }
    const detail::stopwatch watch;
    draft(round.drafter, round.drafted);
    if (round.drafter == "exit" && round.drafted > 0) {
        draft("exit", 1);  // the last drafted token joins the others, which wait for the deep layers
        const pass<llama::sequence> deep{.sequence = &*of_target_, .from_layer = exit_->layer()};
        target_->run(std::span(&deep, 1));
    } else {
        target_->extend(*of_target_, std::span<const token>(text_).first(round.rows));
    }
    const double taken = watch.seconds();
    target_->truncate(*of_target_, asked_.context);
    if (of_draft_) draft_->truncate(*of_draft_, asked_.context);
    if (of_eagle_) eagle_->truncate(*of_eagle_, asked_.context);
    return taken;
}

}  // namespace augur::program
