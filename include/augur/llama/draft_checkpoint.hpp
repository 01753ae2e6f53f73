#pragma once
// Draft checkpoints: files of small models that were made for one target and share its embedding and head.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/io/files/fingerprint.hpp"
#include "augur/io/files/gguf.hpp"
#include "augur/io/files/quantize.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/files/taken_tensors.hpp"
#include "augur/io/files/tensor.hpp"
#include "augur/llama/gguf_config.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/key_value_cache.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/score_rule.hpp"
#include "augur/llama/selection.hpp"
#include "augur/llama/weight_format.hpp"
#include "augur/llama/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama {

/// What a file says it is: `augur.member`; empty for a file that is no draft checkpoint of a draft bundle.
inline std::string checkpoint_kind(const io::gguf_view& file) {
    return file.get_or<std::string>("augur.member", "");
}

/// Throws, with both fingerprints, unless the draft checkpoint was made for the target of this fingerprint.
inline void check_target(const io::gguf_view& file, const std::string& target) {
    const auto made_for = file.get<std::string>("augur.target.fingerprint");
    if (made_for == target && !made_for.empty()) return;
    detail::fail(file.path().string(), ": this ", checkpoint_kind(file), " was made for ",
                 io::quote(file.get_or<std::string>("augur.target.name", "another model")), " with the fingerprint ",
                 io::quote(made_for), ", but the target's is ", target.empty() ? "unknown" : io::quote(target));
}

/// A draft checkpoint's GGUF file, with what it leaves out taken from its target. Errors: another kind of draft
/// checkpoint, another target, and what gguf_file, read_config and weight_reader refuse.
class draft_checkpoint {
 public:
    draft_checkpoint(const std::filesystem::path& path, std::string_view kind, const host_model& target)
        : file_(path), target_(target) {
        if (const auto found = checkpoint_kind(file_); found != kind) {
            detail::fail(origin(), ": augur.member is ", io::quote(found), ", but ", io::quote(kind), " was wanted");
        }
        check_target(file_, target.fingerprint());
        if (file_.contains("augur.head.tokens")) head_tokens_ = file_.array<std::int32_t>("augur.head.tokens");
        if (chosen_tokens(head_tokens_, target.vocabulary_size(), origin()) != head_tokens_) {
            detail::fail(origin(), ": augur.head.tokens are not in ascending order");
        }
    }

    draft_checkpoint(const draft_checkpoint&) = delete;
    draft_checkpoint& operator=(const draft_checkpoint&) = delete;

    const io::gguf_file& metadata() const { return file_; }
    const io::tracked_file<io::gguf_file>& tensors() const { return tensors_; }
    const std::vector<token>& head_tokens() const { return head_tokens_; }

    /// Of the layers in the file.
    config configuration() const {
        config c = read_config(file_, target_.vocabulary_size());
        cut_as_target(c);
        const auto same = [&](const char* what, std::size_t own, std::size_t others) {
            if (own != others) detail::fail(origin(), ": ", what, " is ", own, ", but the target's is ", others);
        };
        same("the width", c.width, target_.configuration().width);
        same("the vocabulary", c.vocabulary, target_.vocabulary_size());
        c.vocabulary_fingerprint = target_.vocabulary_fingerprint();
        return c;
    }

    /// All layers of the file; its embedding, or else the target's, shared; its head, or else the rows of the target's
    /// that belong to the head tokens (target_head).
    weights read(weight_format format) const {
        const config c = configuration();
        const tensor_names names = gguf_names(c);
        const weight_reader reader(tensors(), c, names, format);
        std::vector<std::size_t> layers(c.layers);
        std::iota(layers.begin(), layers.end(), std::size_t{0});
        weights out = reader.read_layers(layers);
        out.head_tokens = head_tokens_;
        const bool own_embedding = file_.find(names.embedding) != nullptr;
        out.embedding_is_lent = !own_embedding;
        if (!own_embedding && target_.configuration().embedding_scale != c.embedding_scale) {
            detail::fail(origin(), ": its target's embedding, which it has not, is scaled by ",
                         target_.configuration().embedding_scale, ", and its own by ", c.embedding_scale);
        }
        out.embedding = own_embedding ? reader.shared_token_rows(names.embedding) : target_.parameters().embedding;
        if (file_.find(names.head)) {
            out.head = head_tokens_.empty() ? reader.token_rows(names.head)
                                            : reader.matrix(names.head, head_tokens_.size(), c.width);
        } else if (!head_tokens_.empty() || own_embedding || target_.parameters().head.rows() != 0) {
            out.head = target_head(format);
        }
        for (const std::string& name : tensors_of_config(file_)) tensors().pass_over(name);
        return out;
    }

    /// The same, with `keep` and `halved` in Q8_0 where the file's own matrices are and the target holds more than a
    /// byte a weight: a draft's bits are nobody's promise, and fewer bytes are read sooner.
    backend::host::packed_matrix target_head(weight_format format) const {
        using backend::host::storage;
        if (!logit_rule(target_.configuration()).is_plain()) {
            detail::fail(origin(), ": its target's head, which it has not, is followed by a scale of ",
                         target_.configuration().logit_scale, " and a cap of ", target_.configuration().logit_cap,
                         ", which no draft checkpoint has");
        }
        backend::host::packed_matrix rows = target_head();
        const bool is_wide =
            rows.format() == storage::f32 || rows.format() == storage::f16 || rows.format() == storage::bf16;
        return keeps(format) && is_wide && holds_q8_0() ? as_q8_0(rows) : std::move(rows);
    }

    /// The rows of the target's head that belong to the head tokens; all if none are named.
    backend::host::packed_matrix target_head() const {
        const weights& lent = target_.parameters();
        if (!lent.head_tokens.empty())
            detail::fail(origin(), ": its target's head does not have a row for every token");
        std::vector<std::size_t> rows(head_tokens_.begin(), head_tokens_.end());
        if (rows.empty()) {
            rows.resize(target_.vocabulary_size());
            std::iota(rows.begin(), rows.end(), std::size_t{0});
        }
        const backend::host::packed_matrix& whole = lent.output();
        check_weights(origin(), stored_bytes(whole.format(), std::uint64_t{rows.size()} * whole.depth()));
        return whole.selected(rows);
    }

 private:
    std::string origin() const { return file_.path().string(); }

    /// A draft checkpoint that brings rows for all that its target's file had rows for has them for no more tokens.
    void cut_as_target(config& c) const {
        const config& of = target_.configuration();
        c.padded_vocabulary = of.padded_vocabulary;
        if (c.vocabulary == of.stored_rows()) c.vocabulary = of.vocabulary;
    }

    bool holds_q8_0() const {
        return std::any_of(file_.tensors().begin(), file_.tensors().end(),
                           [](const io::tensor_view& each) { return each.type == io::tensor_type::q8_0; });
    }

    static backend::host::packed_matrix as_q8_0(const backend::host::packed_matrix& from) {
        constexpr auto type = io::tensor_type::q8_0;
        backend::host::packed_matrix out(backend::host::storage::q8_0, from.rows(), from.depth());
        std::vector<float> numbers(from.depth());
        std::vector<std::byte> blocks(from.depth() / io::block_size(type) * io::block_bytes(type));
        for (std::size_t row = 0; row < from.rows(); ++row) {
            from.unpack_row(row, numbers);
            io::quantize(type, numbers, blocks);
            out.set_row(row, blocks);
        }
        return out;
    }

    io::gguf_file file_;
    const host_model& target_;
    io::tracked_file<io::gguf_file> tensors_{file_};
    std::vector<token> head_tokens_;
};

/// The draft checkpoint `draft` of a draft bundle: a Llama of few layers. Throws augur::error, naming the file and the
/// values, where it was made for another target. Of the options, head_tokens and layers are the file's to say.
inline host_model load_draft(const std::filesystem::path& path, const host_model& target,
                             const load_options& options = {}) {
    const draft_checkpoint file(path, "draft", target);
    check_cache_format(options.cache, file.configuration().head_size, path.string());
    weights w = file.read(options.weights);
    file.tensors().check_all_read();
    return host_model(file.configuration(), std::move(w), with_pool_of(target, options),
                      io::fingerprint(file.metadata()));
}

}  // namespace augur::llama
