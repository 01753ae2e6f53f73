#pragma once
// Acceptance for rows that a model left in device memory: a few launches per round, and a 16-byte device-to-host copy.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "augur/accept/concept.hpp"
#include "augur/backend/device/accept_chain.hpp"
#include "augur/backend/device/row_edits.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/shared_buffer.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"
#include "augur/types/verdict.hpp"

namespace augur::backend::device {

/// Drafted tokens in a system's memory, each of them certain: a proposal<point_mass>.
struct certain_chain {
    const token* tokens = nullptr;
    std::size_t size = 0;

    AUGUR_HOST_DEVICE drafted_token<claimed_row> at(std::size_t i, std::size_t /*vocabulary_size*/) const {
        return {tokens[i], {.point = tokens[i]}};
    }
};

/// Drafted tokens with the rows that they were drawn from: a proposal<distribution>. Weights need not add up to 1; a
/// total is their sum in the order of detail/chunks.hpp, as distribution has it.
struct drawn_chain {
    const token* tokens = nullptr;
    std::size_t size = 0;
    const float* weights = nullptr;  ///< size x vocabulary
    const double* totals = nullptr;

    AUGUR_HOST_DEVICE drafted_token<claimed_row> at(std::size_t i, std::size_t vocabulary_size) const {
        return {tokens[i], {.weights = weights + i * vocabulary_size, .total = totals[i]}};
    }
};

/// Judges token by token, by functions that a kernel can call: judge and draw are AUGUR_HOST_DEVICE, with every other
/// word as on the host, and the criterion is trivially copyable.
template <class C>
concept KernelCriterion = AcceptanceCriterionFor<C, point_mass> && AcceptanceCriterionFor<C, distribution> &&
    JudgesEach<C, point_mass> && JudgesEach<C, distribution> && std::is_trivially_copyable_v<C>;

/// accept::walk with transform::pipeline and random::philox_chooser(seed), on the device that the rows lie on. Effect:
/// the criterion's; on an emulated system the host's verdicts bit for bit (docs/backend/device_round.md). Memory is
/// taken at construction, and none in a round. Cost: three launches per round, two at temperature 0, one more for bias
/// and penalties and one for cuts; a look at all rows by many blocks, a row's cut by one (row_cut.hpp), and what the
/// criterion asks of a row (a race, a residual, a divergence: a pass each) by one. Refuses a mask, and what the
/// criterion's own check refuses.
template <KernelCriterion Criterion, System S>
class round_judge {
 public:
    /// `most_rows` is one more than the longest draft.
    round_judge(const S& on, std::size_t vocabulary_size, std::size_t most_rows, const transform::settings& chosen,
                std::uint64_t seed, Criterion criterion = {})
        : on_(on),
          vocabulary_size_(vocabulary_size),
          most_rows_(most_rows),
          seed_(seed),
          criterion_(criterion),
          weighed_(on, chosen, vocabulary_size, most_rows),
          edits_(on, chosen, vocabulary_size, most_rows),
          decided_(on, 1) {
        if (most_rows == 0) augur::detail::fail("a round judges 1 row or more, but most_rows is 0");
        accept::check(criterion, chosen);
    }

    /// The prefix after which the next round is judged: penalties count its tokens, so that with them it is needed
    /// before each round, and every prefix will do. Cost: row_edits.hpp; without penalties none.
    void on_commit(const prefix& before) { edits_.on_commit(before); }

    /// Launches the judgement of what was drafted at `position`: a certain_chain or a drawn_chain, of ids below the
    /// vocabulary's size. `rows` are the target's logits, one row more than drafted tokens. Both lie in the system's
    /// memory until it is done.
    template <class Chain>
    void judge(const float* rows, const Chain& proposed, std::size_t position, std::size_t round) const {
        if (proposed.size >= most_rows_) {
            augur::detail::fail("a round of at most ", most_rows_, " rows cannot judge ", proposed.size,
                                " drafted tokens");
        }
        const rows_view of = edits_.edited({rows, proposed.size + 1, vocabulary_size_}, proposed.tokens, position);
        const accept_chain<Criterion, Chain> accept{criterion_, proposed, weighed_.prepare(of), seed_,
                                                    position,   round,    decided_.data()};
        on_.launch(accept.blocks(), accept);
    }

    /// Where kernels and the host find the outcome of the last judgement, once it is done.
    const chain_verdict* decided() const { return decided_.data(); }

    /// The outcome of the last judgement: sixteen bytes that the host shares. Waits until it is done.
    verdict result() const {
        on_.wait();
        const chain_verdict made = *decided_.data();
        return {.drafted = made.drafted, .accepted = made.accepted, .next = made.next};
    }

    std::size_t memory_bytes() const {
        return weighed_.memory_bytes() + edits_.memory_bytes() + decided_.memory_bytes();
    }

 private:
    S on_;
    std::size_t vocabulary_size_, most_rows_;
    std::uint64_t seed_;
    Criterion criterion_;
    weighed_rows<S> weighed_;
    row_edits<S> edits_;
    shared_buffer<chain_verdict, S> decided_;
};

}  // namespace augur::backend::device
