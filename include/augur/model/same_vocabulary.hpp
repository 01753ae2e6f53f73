#pragma once
// Checks that two models have the same vocabulary.

#include <string>
#include <string_view>

#include "augur/detail/optional_member.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/error.hpp"

namespace augur::detail {

/// Of a model or a drafter; empty where it has none.
template <class M>
std::string vocabulary_fingerprint_of(const M& of) {
    static_assert(!HasMemberVocabularyFingerprint<M> || HasVocabularyFingerprint<M>,
                  "augur: this model (or drafter) has a member vocabulary_fingerprint that cannot be called as "
                  "std::string vocabulary_fingerprint() const, so that it would be ignored");
    if constexpr (HasVocabularyFingerprint<M>) {
        return of.vocabulary_fingerprint();
    } else {
        return {};
    }
}

/// Throws, with both, where two fingerprints are known and differ. `all` opens the message; the names are of one and
/// the other.
inline void check_same_tokens(std::string_view all, std::string_view its_name, std::string_view ours,
                              std::string_view other_name, std::string_view theirs) {
    if (ours.empty() || theirs.empty() || ours == theirs) return;
    fail(all, " must share a vocabulary, but the tokens of ", its_name, " have the fingerprint ", ours,
         " and those of ", other_name, " ", theirs);
}

/// Throws, with both values, unless `one` and `other` have vocabularies of one size and, where both say so, of one
/// fingerprint. What has no size is not compared by it.
template <class One, class Other>
void check_same_vocabulary(std::string_view all, std::string_view its_name, const One& one, std::string_view other_name,
                           const Other& other) {
    if constexpr (HasVocabularySize<One> && HasVocabularySize<Other>) {
        if (one.vocabulary_size() != other.vocabulary_size()) {
            fail(all, " must share a vocabulary, but ", its_name, " has ", one.vocabulary_size(), " tokens and ",
                 other_name, " ", other.vocabulary_size());
        }
    }
    check_same_tokens(all, its_name, vocabulary_fingerprint_of(one), other_name, vocabulary_fingerprint_of(other));
}

}  // namespace augur::detail
