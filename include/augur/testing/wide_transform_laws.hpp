#pragma once
// The law suite of logits transforms in wide vocabularies: the same as with few tokens in a narrow one.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// `transform(logits, before)` edits a row in place. Optional: active(), check(vocabulary_size).
template <class T>
concept Transform = requires(const T& transform, std::span<float> logits, const prefix& before) {
    transform(logits, before);
};

/// The numbers that a few tokens have in some vocabulary, ascending: token i of the few is number(i) there.
class token_numbers {
 public:
    explicit token_numbers(std::vector<token> numbers) : numbers_(std::move(numbers)) {}

    std::size_t size() const { return numbers_.size(); }
    token operator()(token of) const {
        if (of < 0 || static_cast<std::size_t>(of) >= size()) {
            augur::detail::fail("token_numbers: there are ", size(), " tokens, and none is ", of);
        }
        return numbers_[static_cast<std::size_t>(of)];
    }
    const std::vector<token>& all() const { return numbers_; }

 private:
    std::vector<token> numbers_;
};

/// Makes a transform that means some tokens (a bias, a ban, a mask) for the numbers that these have:
/// [](const token_numbers& number) { return transform::bias{{{number(2), 1.5f}}}; }
template <class Make>
concept MakesTransforms = requires(const Make& make, const token_numbers& numbers) {
    { make(numbers) } -> Transform;
};

/// As the pipeline does: what is off is not applied.
template <Transform T>
std::vector<float> transformed(const T& transform, std::vector<float> row, const prefix& before) {
    if constexpr (requires { transform.active(); }) {
        if (!transform.active()) return row;
    }
    transform(std::span<float>(row), before);
    return row;
}

/// Every law is a function of one random input that says what is wrong, or nothing.
template <MakesTransforms Make>
class wide_transform_cases {
 public:
    static constexpr std::size_t few = 5;
    static constexpr std::size_t kinds = 8;  ///< windows of places

    explicit wide_transform_cases(const Make& make) : make_(make) {}

    std::string few_tokens_as_in_a_narrow_row(choices& from) const {
        const std::size_t vocabulary = wide_vocabularies[from.below(wide_vocabularies.size())];
        const std::size_t kind = from.below(kinds);
        const token_numbers numbers(some_places(far_places(vocabulary), 2 * kind, few));
        std::string found;
        for (int i = 0; i < 4 && found.empty(); ++i) found = alike(from, numbers, vocabulary);
        return found;
    }

    /// The same in rows of 17 tokens.
    std::string few_tokens_as_in_another_narrow_row(choices& from) const {
        std::vector<token> numbers;
        for (token t = 0; numbers.size() < few; ++t) {
            const bool must = 17 - static_cast<std::size_t>(t) == few - numbers.size();
            if (must || from.below(3) == 0) numbers.push_back(t);
        }
        return alike(from, token_numbers(std::move(numbers)), 17);
    }

 private:
    std::string alike(choices& from, const token_numbers& numbers, std::size_t vocabulary) const {
        const token_numbers same(std::vector<token>{0, 1, 2, 3, 4});
        const auto row = random_logits(from, few);
        std::vector<float> wide(vocabulary, -std::numeric_limits<float>::infinity());
        for (std::size_t i = 0; i < few; ++i) wide[static_cast<std::size_t>(numbers.all()[i])] = row[i];
        const auto prompt = from.tokens(1, 4, few), more = from.tokens(0, 4, few);
        prefix before(prompt), there(renumbered(prompt, numbers));
        for (const token t : more) before.push(t), there.push(numbers(t));
        const auto expected = transformed(make_(same), row, before);
        const auto got = transformed(make_(numbers), wide, there);
        if (got.size() != vocabulary) return augur::detail::message("a row of ", vocabulary, " became ", got.size());
        std::size_t next = 0;
        for (std::size_t t = 0; t < vocabulary; ++t) {
            const bool one = next < few && static_cast<std::size_t>(numbers.all()[next]) == t;
            const float right = one ? expected[next] : -std::numeric_limits<float>::infinity();
            next += one ? 1 : 0;
            if (same_logit(right, got[t], 1e-5)) continue;
            return augur::detail::message("in a vocabulary of ", vocabulary, ", token ", t, " becomes ", got[t],
                                          " instead of ", right, " (tokens ", describe(numbers.all()), " have logits ",
                                          describe(row), ", all others -inf, after ", describe(there.tokens()),
                                          ", prompt of ", there.prompt_length(), ')');
        }
        return "";
    }

    static std::vector<token> renumbered(std::vector<token> tokens, const token_numbers& numbers) {
        for (token& t : tokens) t = numbers(t);
        return tokens;
    }

    const Make& make_;
};

namespace detail {

inline constexpr const char* wide_transform_law = "few tokens of a wide row, as in a narrow one";

template <MakesTransforms Make>
void check_wide_transform(report& r, const Make& make, const effort& tries) {
    using c = wide_transform_cases<Make>;
    const c cases(make);
    check_wide(r, wide_transform_law, tries, every_kind(c::kinds),
               [&](choices& from) { return cases.few_tokens_as_in_a_narrow_row(from); });
}

/// Of a transform that does not say which tokens it means: where it treats few tokens of narrow rows alike, whatever
/// their numbers are.
template <Transform T>
void check_wide_transform_of(report& r, const T& transform, const effort& tries) {
    struct any_numbers {
        const T& of;
        const T& operator()(const token_numbers&) const { return of; }
    };
    const any_numbers make{transform};
    report narrow;
    const wide_transform_cases<any_numbers> cases(make);
    check(narrow, wide_transform_law, {.seed = tries.seed, .cases = 50, .shrinks = 0},
          [&](choices& from) { return cases.few_tokens_as_in_another_narrow_row(from); });
    if (!narrow.broken.empty()) {
        return r.skip(wide_transform_law,
                      "what it does depends on the numbers of tokens: hand the suite a function of token_numbers that "
                      "makes it");
    }
    check_wide_transform(r, make, tries);
}

}  // namespace detail

}  // namespace augur::testing
