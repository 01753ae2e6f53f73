#pragma once
// The law suite of one logits transform, as the pipeline relies on it.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_transform_laws.hpp"
#include "augur/types/prefix.hpp"

namespace augur::testing {

/// Every law is a function of one random input that says what is wrong, or nothing.
template <Transform T>
class transform_law_cases {
 public:
    transform_law_cases(const T& transform, std::size_t vocabulary_size)
        : transform_(transform), vocabulary_(vocabulary_size) {}

    std::string rows_stay_rows(choices& from) const {
        const auto row = random_logits(from, vocabulary_);
        const prefix before = some_prefix(from);
        const auto got = after(row, before);
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (got[i] < std::numeric_limits<float>::infinity()) continue;
            return said(row, before, "token ", i, " becomes ", got[i]);
        }
        return "";
    }

    std::string removed_tokens_stay_removed(choices& from) const {
        const auto row = random_logits(from, vocabulary_);
        const prefix before = some_prefix(from);
        const auto got = after(row, before);
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (std::isfinite(row[i]) || !std::isfinite(got[i])) continue;
            return said(row, before, "token ", i, " was removed, and becomes ", got[i]);
        }
        return "";
    }

    std::string no_memory(choices& from) const {
        const auto row = random_logits(from, vocabulary_);
        const prefix before = some_prefix(from);
        const auto expected = after(row, before);
        const auto other_row = random_logits(from, vocabulary_);
        const prefix other = some_prefix(from);
        after(other_row, other);
        const std::string found = difference({expected}, {after(row, before)});
        return found.empty() ? found
                             : said(row, before, "having been applied to ", describe(other_row), " after ",
                                    describe(other.tokens()), ", ", found);
    }

    std::string speculative_tokens_leave_no_trace(choices& from) const {
        const auto row = random_logits(from, vocabulary_);
        prefix before = some_prefix(from);
        const auto expected = after(row, before);
        const auto speculative = from.tokens(1, 4, vocabulary_);
        {
            speculative_suffix pushed(before);
            for (token t : speculative) {
                pushed.push(t);
                after(row, before);
            }
        }
        const std::string found = difference({expected}, {after(row, before)});
        return found.empty() ? found
                             : said(row, before, "after speculative tokens ", describe(speculative), ", ", found);
    }

 private:
    std::vector<float> after(std::vector<float> row, const prefix& before) const {
        return transformed(transform_, std::move(row), before);
    }

    prefix some_prefix(choices& from) const {
        prefix before(from.tokens(1, 4, vocabulary_));
        for (token t : from.tokens(0, 4, vocabulary_)) before.push(t);
        from.note([&] { return "prefix " + describe(before.tokens()); });
        return before;
    }

    template <class... What>
    static std::string said(const std::vector<float>& row, const prefix& before, const What&... what) {
        return augur::detail::message("logits ", describe(row), " after ", describe(before.tokens()), " (prompt of ",
                                      before.prompt_length(), "): ", what...);
    }

    const T& transform_;
    std::size_t vocabulary_;
};

namespace detail {
template <Transform T>
void check_transform(report& r, const T& transform, std::size_t vocabulary_size, const effort& tries) {
    if constexpr (requires { transform.check(vocabulary_size); }) transform.check(vocabulary_size);
    using c = transform_law_cases<T>;
    const c cases(transform, vocabulary_size);
    const auto law = [&](const char* name, auto member) {
        check(r, name, tries, [&](choices& from) { return (cases.*member)(from); });
    };
    law("no NaN and no +infinity comes in", &c::rows_stay_rows);
    law("removed tokens stay removed", &c::removed_tokens_stay_removed);
    law("equal rows and prefixes, equal results", &c::no_memory);
    law("speculative tokens leave no trace", &c::speculative_tokens_leave_no_trace);
    if constexpr (std::default_initializable<T> && requires { transform.active(); }) {
        check(r, "the default is off", {.seed = tries.seed, .cases = 1},
              [](choices&) { return T{}.active() ? "a default-constructed one is active" : ""; });
    }
}
}  // namespace detail

/// Checks that finite rows stay without NaN and +infinity, that nothing removed returns, and that the result depends on
/// the row and the tokens before it alone; and that it does to few tokens of wide rows (wide_rows.hpp, up to
/// `tries.widest`) what it does to them in narrow ones, up to rounding of 1e-5. That last law is for transforms that
/// treat tokens alike whatever their numbers are: it is skipped where one does not in narrow rows. The settings are
/// checked first, where the transform has a check.
template <Transform T>
report transform_laws(const T& transform, std::size_t vocabulary_size = 5, const effort& tries = {}) {
    report r{"transform_laws"};
    detail::check_transform(r, transform, vocabulary_size, tries);
    detail::check_wide_transform_of(r, transform, tries);
    return r;
}

/// The same of a transform that means some tokens, made for the numbers that the first five have in each vocabulary:
/// transform_laws([](const token_numbers& number) { return transform::bias{{{number(2), 1.5f}}}; }).
template <MakesTransforms Make>
report transform_laws(const Make& make, const effort& tries = {}) {
    report r{"transform_laws"};
    detail::check_transform(r, make(token_numbers({0, 1, 2, 3, 4})), 5, tries);
    detail::check_wide_transform(r, make, tries);
    return r;
}

}  // namespace augur::testing
