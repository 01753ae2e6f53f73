#pragma once
// A model that takes turns at writing, alone or with the codec of its vocabulary; its side of a text.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/switching/concept.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"
#include "augur/types/utf8.hpp"

namespace augur::switching {

/// Of a model that shares its vocabulary with the others: they read each other's tokens.
struct no_codec {};

/// A model, the codec of its vocabulary, and the tokens after which it has nothing more to say; or a model alone.
template <class HeldModel, class HeldCodec = no_codec>
class speaker {
 public:
    using model_type = typename detail::owned_or_borrowed<HeldModel>::type;
    static constexpr bool has_codec = !std::is_same_v<HeldCodec, no_codec>;
    static_assert(Model<model_type>);
    static_assert(!has_codec || TextCodec<typename detail::owned_or_borrowed<HeldCodec>::type>);

    explicit speaker(detail::owned_or_borrowed<HeldModel> model) requires(!has_codec)
        : model_(std::move(model)), codec_(no_codec{}) {}
    speaker(detail::owned_or_borrowed<HeldModel> model, detail::owned_or_borrowed<HeldCodec> codec,
            std::span<const token> end_tokens)
        : model_(std::move(model)), codec_(std::move(codec)), end_tokens_(end_tokens.begin(), end_tokens.end()) {
        for (token t : end_tokens_) {
            if (!has(t)) {
                detail::fail("spoken: end token ", t, " is outside the vocabulary of ", model_.get().vocabulary_size());
            }
        }
    }

    const model_type& model() const { return model_.get(); }
    const auto& codec() const requires(has_codec) { return codec_.get(); }
    const std::vector<token>& end_tokens() const { return end_tokens_; }
    bool has(token t) const { return t >= 0 && static_cast<std::size_t>(t) < model().vocabulary_size(); }
    bool ends(token t) const { return std::find(end_tokens_.begin(), end_tokens_.end(), t) != end_tokens_.end(); }
    /// What a token adds to the text: an end token nothing.
    std::string bytes_of(token t) const requires(has_codec) { return ends(t) ? std::string() : codec().bytes_of(t); }

 private:
    detail::owned_or_borrowed<HeldModel> model_;
    detail::owned_or_borrowed<HeldCodec> codec_;
    std::vector<token> end_tokens_;
};

template <class T>
inline constexpr bool is_speaker = false;
template <class HeldModel, class HeldCodec>
inline constexpr bool is_speaker<speaker<HeldModel, HeldCodec>> = true;

/// The tokens that a speaker starts from, in its own vocabulary, and how it is sampled: as the others, or otherwise.
struct opening {
    std::vector<token> prompt;
    std::optional<transform::settings> sampling{};
};

/// The outcome of a model's turn.
enum class handover {
    taken,  ///< it has read all of the text
    lost,   ///< nothing is changed: the bytes of the tokens that its codec makes of the text are not the text
    full    ///< nothing is changed: its context has no room for the text and one token more
};

/// One speaker's side of a text: the text in its own tokens, as far as it has written or read it. Members are open to
/// inspection; the functions alone change them. The speaker must outlive it.
/// Law: the bytes of the generated tokens, end tokens aside, are the first `heard` bytes of the text.
template <class Speaker>
struct voice {
    /// Without a `sampling` of the opening's own this is `shared`, which then may not name tokens.
    voice(const Speaker& speaker, const opening& from, const transform::settings& shared)
        : who(&speaker),
          own(checked_prompt(from.prompt, speaker.model().vocabulary_size(), speaker.model().context_length())),
          cache(speaker.model()),
          transform(from.sampling ? *from.sampling : without_ids(shared), speaker.model().vocabulary_size()) {}

    /// Whether its context has no room for another token.
    bool full() const { return own.size() >= who->model().context_length(); }

    /// Adds a token that it wrote, and the token's bytes to the text; it must have heard all of that. If memory fails,
    /// nothing has changed.
    std::string write(token t, std::string& text) {
        std::string bytes = who->bytes_of(t);
        if (const std::size_t size = text.size() + bytes.size(); size > text.capacity()) {
            text.reserve(std::max(size, 2 * text.capacity()));
        }
        own.push(t);
        text += bytes;
        heard = text.size();
        return bytes;
    }

    /// What it has not heard of the text, in its own tokens; nothing if their bytes are not that.
    /// Cost: the codec's, linear in the new text beside.
    std::optional<std::vector<token>> unheard(std::string_view text) const {
        const std::string_view rest = text.substr(heard);
        std::vector<token> tokens = who->codec().encode(rest);
        std::string back;
        for (token t : tokens) {
            if (!who->has(t)) return std::nullopt;
            back += who->codec().bytes_of(t);
        }
        if (back != rest) return std::nullopt;
        return tokens;
    }

    /// Adds what it has not heard of the text, in its own tokens; those that it has stay, and so does its cache. If
    /// memory fails, nothing has changed. Cost: that of unheard(); the model reads when it is asked for its next row.
    handover take_over(std::string_view text) {
        const auto added = unheard(text);
        if (!added) return handover::lost;
        if (own.size() + added->size() >= who->model().context_length()) return handover::full;
        { const speculative_suffix room(own, *added); }  // takes the memory
        for (token t : *added) own.push(t);
        heard = text.size();
        return handover::taken;
    }

    /// All of a longer prefix is the prompt of the next text.
    void begin(prefix longer) noexcept {
        own = std::move(longer);
        heard = 0;
    }

    const Speaker* who;
    prefix own;  ///< its prompt, then the text
    model::cached_sequence<typename Speaker::model_type> cache;
    transform::pipeline transform;
    std::size_t heard = 0;  ///< bytes of the text

 private:
    static const transform::settings& without_ids(const transform::settings& shared) {
        if (!shared.bias.active() && !shared.mask) return shared;
        detail::fail("the sampling of models with vocabularies of their own has ",
                     shared.mask ? "a mask" : "a bias of " + std::to_string(shared.bias.added.size()) + " tokens",
                     ", whose ids are of one vocabulary: give each opening a sampling of its own");
    }
};

/// Follows a text as it grows, to say whether it ends inside a code point.
class code_points {
 public:
    /// Looks at what is new; true where it shows that bytes are no UTF-8. Cost: linear in that.
    bool find_broken(std::string_view text) {
        bool broken = false;
        open_ = false;
        while (settled_ < text.size() && !open_) {
            const auto start = detail::first_code_point(text.substr(settled_));
            open_ = start.state == detail::utf8_state::incomplete;
            broken = broken || start.state == detail::utf8_state::invalid;
            if (!open_) settled_ += start.length;
        }
        return broken;
    }

    /// Whether the text ended inside what could still become a code point: at most three bytes are missing.
    bool open() const { return open_; }

 private:
    std::size_t settled_ = 0;  // bytes of whole code points, and of what can be none
    bool open_ = false;
};

}  // namespace augur::switching

namespace augur {

/// A model, the codec of its vocabulary, and the tokens after which it has nothing more to say. Lvalues are referred
/// to, rvalues are kept.
template <class M, switching::TextCodec C>
auto spoken(M&& model, C&& codec, std::span<const token> end_tokens = {}) {
    return switching::speaker<M, C>(detail::owned_or_borrowed<M>(std::forward<M>(model)),
                                    detail::owned_or_borrowed<C>(std::forward<C>(codec)), end_tokens);
}

}  // namespace augur
