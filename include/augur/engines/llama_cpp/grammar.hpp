#pragma once
// A grammar as a mask that follows trees, by llama.cpp's grammar sampler. See docs/engines/grammar.md.

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/engines/llama_cpp/complaints.hpp"
#include "augur/engines/llama_cpp/weights.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"
#include "augur/types/utf8.hpp"

namespace augur::engines::llama_cpp {

struct grammar_options {
    std::string root = "root";  ///< the rule that the whole text is to be
    std::size_t texts = 64;     ///< texts in progress whose states are kept; others are read anew
};

/// A transform::mask: what is generated after the prompt, up to the token that ends it, is a text of a GBNF grammar.
/// Tokens that no text of it goes on with become -infinity; so do tokens that write no text, and bytes that make
/// no UTF-8. Where a text of the grammar may end, tokens that end texts stay. A path that the grammar does not allow
/// leaves no token.
/// States are kept for the committed text and for the paths of drafts from there, forked where these branch: a draft
/// that is rejected leaves no trace, and what was said of a prefix is said again from memory. The outcome depends on
/// the generated tokens alone.
/// Cost: the first time at a prefix llama.cpp looks at every token of the vocabulary (milliseconds, measured in
/// docs/measurements/schemes.md), and copies its rules for a token that goes on from there; each further time a pass
/// over the row. Memory: for each state the rules, and a bit for each token.
/// Copies share the states, under a lock: safe from several threads. Needs a vocabulary only
/// (load_options::vocabulary_only).
class grammar {
 public:
    /// Throws, with llama.cpp's reason where it has one, where the grammar cannot be read, and what has no vocabulary.
    grammar(const weights& of, const std::string& gbnf, const grammar_options& options = {})
        : shared_(std::make_shared<memory>(of, gbnf, options)) {}

    std::size_t vocabulary_size() const { return shared_->first.size(); }

    void operator()(std::span<float> logits, const prefix& before) const {
        if (logits.size() != vocabulary_size()) {
            augur::detail::fail("llama_cpp::grammar: a row has ", logits.size(), " logits, and the vocabulary ",
                                vocabulary_size(), " tokens");
        }
        const std::lock_guard lock(shared_->busy);
        const state* const at = shared_->state_after(before);
        for (std::size_t t = 0; t < logits.size(); ++t) {
            if (at == nullptr || !at->allowed[t]) logits[t] = -INFINITY;
        }
    }

 private:
    struct frees {
        void operator()(llama_sampler* held) const { llama_sampler_free(held); }
    };
    using sampler = std::unique_ptr<llama_sampler, frees>;

    /// After a path. Asked about its tokens when it first is needed.
    struct state {
        sampler rules;
        std::string half{};                                            ///< of a character: its first bytes
        std::vector<bool> allowed{};                                   ///< empty: not asked yet
        std::vector<std::pair<token, std::unique_ptr<state>>> next{};  ///< nullptr: the grammar ends there
    };
    struct text {
        std::uint64_t number = 0;  ///< of the prefix
        std::size_t settled = 0;   ///< tokens of it up to the state `at`
        std::unique_ptr<state> at{};
        std::uint64_t used = 0;
    };

    struct memory {
        memory(const weights& of, const std::string& gbnf, const grammar_options& options)
            : words(of), most(std::max<std::size_t>(options.texts, 1)) {
            const llama_vocab* const vocabulary = of.vocabulary();
            if (llama_vocab_type(vocabulary) == LLAMA_VOCAB_TYPE_NONE) {
                augur::detail::fail(of.description(), " has no vocabulary: a grammar is of texts");
            }
            if (gbnf.empty()) augur::detail::fail("llama_cpp::grammar: the grammar is empty");
            const complaints said;
            start.reset(llama_sampler_init_grammar(vocabulary, gbnf.c_str(), options.root.c_str()));
            if (start == nullptr) said.fail("llama.cpp cannot read the grammar, of root '", options.root, "'");
            for (token t = 0; t < llama_vocab_n_tokens(vocabulary); ++t) {
                const bool ends = llama_vocab_is_eog(vocabulary, t);
                const std::string bytes = ends ? "" : piece(t, true);
                first.push_back({t, ends || piece(t, false) == bytes ? 0.0f : -INFINITY, 0.0f});
                const auto is_wide = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
                if (ends || std::any_of(bytes.begin(), bytes.end(), is_wide)) wide.emplace_back(t, bytes);
            }
        }

        /// nullptr where the grammar does not allow the path.
        const state* state_after(const prefix& before) {
            const std::span<const token> tokens = before.tokens();
            text& of = text_of(before);
            of.number = 0;  // should memory fail on the way, it is read anew
            while (of.at != nullptr && of.settled < before.settled()) settle(of, tokens[of.settled++]);
            of.number = before.tokens().text();
            state* at = of.at.get();
            for (std::size_t i = before.settled(); at != nullptr && i < tokens.size(); ++i) at = follow(*at, tokens[i]);
            if (at != nullptr && at->allowed.empty()) ask(*at);
            return at;
        }

        /// The one of this prefix, or a new one in place of the one that was used longest ago.
        text& text_of(const prefix& before) {
            const std::uint64_t number = before.tokens().text();
            const auto is_it = [&](const text& each) {
                return each.number == number && each.settled >= before.prompt_length() &&
                       each.settled <= before.settled();
            };
            auto found = std::find_if(texts.begin(), texts.end(), is_it);
            if (found == texts.end()) {
                if (texts.size() < most) texts.emplace_back();
                found = std::min_element(texts.begin(), texts.end(),
                                         [](const text& a, const text& b) { return a.used < b.used; });
                *found = {number, before.prompt_length(), std::make_unique<state>(state{fork(*start)})};
            }
            found->used = ++uses;
            return *found;
        }

        /// The text goes on with this token: other paths are forgotten.
        void settle(text& of, token t) {
            for (auto& [known, after] : of.at->next) {
                if (known != t) continue;
                std::unique_ptr<state> next = std::move(after);
                of.at = std::move(next);
                return;
            }
            if (!allows(*of.at, t)) return of.at.reset();
            of.at->half = *half_after(of.at->half, t);
            llama_sampler_accept(of.at->rules.get(), t);
            of.at->allowed.clear();
            of.at->next.clear();
        }

        state* follow(state& from, token t) {
            for (const auto& [known, after] : from.next) {
                if (known == t) return after.get();
            }
            std::unique_ptr<state> after;
            if (allows(from, t)) {
                after = std::make_unique<state>(state{fork(*from.rules), *half_after(from.half, t)});
                llama_sampler_accept(after->rules.get(), t);
            }
            return from.next.emplace_back(t, std::move(after)).second.get();
        }

        bool allows(const state& at, token t) const {
            if (t < 0 || static_cast<std::size_t>(t) >= first.size()) return false;
            if (!at.allowed.empty()) return at.allowed[static_cast<std::size_t>(t)];
            llama_token_data one = first[static_cast<std::size_t>(t)];
            llama_token_data_array alone{&one, 1, -1, false};
            llama_sampler_apply(at.rules.get(), &alone);
            return one.logit == 0 && half_after(at.half, t);
        }

        /// What is begun of a character once the token is written; nothing where no character goes on so, or a text
        /// ends within one. llama.cpp takes overlong forms for what they are long for, a quote for example.
        std::optional<std::string> half_after(const std::string& half, token t) const {
            const auto found = std::lower_bound(wide.begin(), wide.end(), t,
                                                [](const auto& each, token other) { return each.first < other; });
            if (found == wide.end() || found->first != t) return half.empty() ? std::optional(half) : std::nullopt;
            return half_after(half, std::string_view(found->second));
        }
        static std::optional<std::string> half_after(const std::string& half, std::string_view bytes) {
            if (bytes.empty()) return half.empty() ? std::optional(half) : std::nullopt;
            const std::string whole = half + std::string(bytes);
            for (std::string_view rest = whole; !rest.empty();) {
                const auto start = augur::detail::first_code_point(rest);
                if (start.state == augur::detail::utf8_state::invalid) return std::nullopt;
                if (start.state == augur::detail::utf8_state::incomplete) return std::string(rest);
                rest.remove_prefix(start.length);
            }
            return std::string();
        }

        std::string piece(token t, bool shows_control) const {
            std::string bytes(256, '\0');
            const auto into = [&] {
                return llama_token_to_piece(words.vocabulary(), t, bytes.data(),
                                            static_cast<std::int32_t>(bytes.size()), 0, shows_control);
            };
            std::int32_t size = into();
            if (size < 0) {
                bytes.resize(static_cast<std::size_t>(-size));
                size = into();
            }
            bytes.resize(static_cast<std::size_t>(size));
            return bytes;
        }

        void ask(state& at) {
            work = first;
            llama_token_data_array all{work.data(), work.size(), -1, false};
            llama_sampler_apply(at.rules.get(), &all);
            std::vector<bool> allowed(work.size());
            for (std::size_t t = 0; t < work.size(); ++t) allowed[t] = work[t].logit == 0;
            for (const auto& [t, bytes] : wide) {
                const auto place = static_cast<std::size_t>(t);
                if (allowed[place]) allowed[place] = half_after(at.half, bytes).has_value();
            }
            at.allowed = std::move(allowed);
        }

        static sampler fork(const llama_sampler& from) { return sampler(llama_sampler_clone(&from)); }

        weights words;
        std::size_t most;
        sampler start;
        std::vector<llama_token_data> first;  ///< every token, those removed that write no text and end none
        std::vector<std::pair<token, std::string>> wide;  ///< tokens whose bytes are not all ASCII, and ends of texts
        std::vector<llama_token_data> work;
        std::vector<text> texts;
        std::uint64_t uses = 0;
        std::mutex busy;
    };

    std::shared_ptr<memory> shared_;
};

}  // namespace augur::engines::llama_cpp
