#pragma once
// Drafts the most frequent continuations from n-gram tables, counted before or while serving.

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/ngram_table.hpp"
#include "augur/types/error.hpp"

namespace augur::draft {

/// Looks up the last tokens in `Source`, a table by value or `Table&` by reference, the longest context that it knows
/// first, and proposes what followed there most often; then the same with the proposal as part of the text. A context
/// of fewer than `least` tokens ends the proposal. Its draft distribution is a point mass.
/// Effect on the distribution: none. Randomness: none. Cost: O(longest^2) per drafted token at most, whatever the
/// table's and the text's size; no model.
template <class Source>
class ngram_lookup {
 public:
    using table_type = typename augur::detail::owned_or_borrowed<Source>::type;
    struct state_type {
        std::vector<token> text{};  ///< the last tokens, the proposal included
    };
    using draft_distribution_type = point_mass;
    static constexpr bool shows_matches = true;

    explicit ngram_lookup(Source&& table, std::size_t least = 1) : table_(std::forward<Source>(table)), least_(least) {
        if (least == 0) detail::fail("ngram_store: least is 0; a context has at least one token");
        if (least > this->table().orders().longest) {
            detail::fail("ngram_store: least is ", least, ", but the table's longest contexts have ",
                         this->table().orders().longest, " tokens");
        }
    }

    const table_type& table() const { return table_.get(); }
    std::size_t least() const { return least_; }
    std::size_t vocabulary_size() const { return table().orders().vocabulary_size; }

    state_type make_state() const { return {}; }

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (!context.wants_more(0)) return;
        const auto known = context.prefix().tokens();
        const auto seen = known.last(std::min(known.size(), table().orders().longest));
        state.text.assign(seen.begin(), seen.end());
        found_ngram found = table().find(state.text, least_);
        if (found.matched > 0) context.matched(found.matched);
        while (found.matched > 0 && context.wants_more(proposed.size())) {
            proposed.push(found.next);
            state.text.push_back(found.next);
            found = table().find(state.text, least_);
        }
    }

    void on_commit(state_type&, const prefix&) const {}  // propose looks at the prefix itself

    friend std::ostream& operator<<(std::ostream& out, const ngram_lookup& d) {
        return out << "ngram_store{.table=" << d.table() << ", .least=" << d.least_ << '}';
    }

 private:
    augur::detail::owned_or_borrowed<Source> table_;
    std::size_t least_;
};

/// Of texts that were counted before.
class ngram_store : public ngram_lookup<ngram_table> {
 public:
    explicit ngram_store(ngram_table table, std::size_t least = 1) : ngram_lookup(std::move(table), least) {}
};

}  // namespace augur::draft
