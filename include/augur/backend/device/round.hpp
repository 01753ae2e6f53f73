#pragma once
// Judges a round whose rows are in device memory: a few launches, and a 16-byte copy to the host.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "augur/accept/concept.hpp"
#include "augur/accept/exact.hpp"
#include "augur/backend/device/accept_chain.hpp"
#include "augur/backend/device/accept_tree.hpp"
#include "augur/backend/device/judge_greatest.hpp"
#include "augur/backend/device/row_edits.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/shared_buffer.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/traverse_tree.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/tree/greatest_path.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"
#include "augur/types/verdict.hpp"

namespace augur::backend::device {

/// Drafted tokens in a system's memory, each of them certain: a proposal<point_mass>.
struct certain_chain {
    const token* tokens = nullptr;
    std::size_t size = 0;

    AUGUR_HOST_DEVICE drafted_token<draft_row> at(std::size_t i, std::size_t /*vocabulary_size*/) const {
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
    const token* points = nullptr;  ///< where a row is certain of a token, that token, else no_token; null: none is

    AUGUR_HOST_DEVICE drafted_token<draft_row> at(std::size_t i, std::size_t vocabulary_size) const {
        if (points != nullptr && points[i] != no_token) return {tokens[i], {.point = points[i]}};
        return {tokens[i], {.weights = weights + i * vocabulary_size, .total = totals[i]}};
    }
};

/// Judges token by token, by functions that a kernel can call: judge and draw are AUGUR_HOST_DEVICE, with every other
/// word as on the host, and the criterion is trivially copyable.
template <class C>
concept KernelCriterion = AcceptanceCriterionFor<C, point_mass> && AcceptanceCriterionFor<C, distribution> &&
    JudgesEach<C, point_mass> && JudgesEach<C, distribution> && std::is_trivially_copyable_v<C>;

/// What judges rounds on a device: token by token, or whole trees, by where the accepted path ends, from the leaves, or
/// along the greatest path.
template <class C>
concept DeviceCriterion =
    KernelCriterion<C> ||
    ((EndsPath<C> || JudgesFromLeaves<C>)&&AcceptanceCriterionFor<C, point_mass>&& std::is_trivially_copyable_v<C>) ||
    JudgesGreatest<C>;

/// accept::walk with transform::pipeline and random::philox_chooser(seed), on the device that the rows lie on. Effect:
/// the criterion's; on an emulated system the host's verdicts bit for bit (docs/backend/device_round.md). Memory is
/// taken at construction, and none in a round. Cost: three launches per round, two at temperature 0, one more for bias,
/// penalties and mask, and row_cutter's for cuts; all that looks at whole rows is by many blocks, but for what a
/// criterion asks of a row second (walking_block.hpp). Refuses what transform::pipeline and the criterion's own check
/// refuse, and a mask that does more than remove tokens.
template <DeviceCriterion Criterion, System S>
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
          outcomes_(on, most_rows),
          decided_(on, 1),
          decided_tree_(on, 1) {
        if (most_rows == 0) augur::detail::fail("a round judges 1 row or more, but most_rows is 0");
        accept::check(criterion, chosen);
        if (JudgesGreatest<Criterion> && chosen.temperature.value > 0) {
            order_ = buffer<tree::ranked_token, S>(on, 2 * vocabulary_size);
            laws_ = buffer<double, S>(on, (most_rows - 1) * vocabulary_size);
        }
    }

    /// The prefix after which the next round is judged: penalties count its tokens, so that with them it is needed
    /// before each round, and every prefix will do. Cost: row_edits.hpp; without penalties none.
    void on_commit(const prefix& before) { edits_.on_commit(before); }

    /// What was drafted after this prefix, a chain or a tree with these parents: needed before each round where there
    /// is a mask, which is asked now, on the host. Cost: row_edits.hpp; without a mask none.
    void on_draft(const prefix& before, std::span<const token> drafted, std::span<const std::int32_t> parents = {}) {
        check_size(drafted.size());
        edits_.on_draft(before, drafted, parents);
    }

    /// Launches the judgement of what was drafted at `position`: a certain_chain or a drawn_chain, of ids below the
    /// vocabulary's size. `rows` are the target's logits, one row more than drafted tokens. Both lie in the system's
    /// memory until it is done.
    template <class Chain>
    void judge(const float* rows, const Chain& proposed, std::size_t position, std::size_t round) const {
        const accept_chain<Criterion, Chain> accept{
            criterion_, proposed, prepared(rows, proposed, position), seed_, position, round, decided_.data()};
        on_.launch(accept.blocks(), accept);
    }
    /// The same of a tree: the row after the prefix, then that after each node.
    template <class Nodes>
    void judge(const float* rows, const drafted_tree<Nodes>& proposed, std::size_t position, std::size_t round) const {
        const weighed_view view = prepared(rows, proposed.nodes, position, proposed.above);
        if constexpr (JudgesGreatest<Criterion>) {
            if (!(view.temperature > 0)) return walk(accept::exact{}, proposed, view, position, round);
            const judge_greatest<Criterion, drafted_tree<Nodes>> kernel{
                {criterion_, proposed, view, seed_, position, round},
                {order_.data(), laws_.data()},
                decided_tree_.data()};
            on_.launch(kernel.blocks(), kernel);
        } else if constexpr (JudgesFromLeaves<Criterion>) {
            const traverse_tree<Criterion, drafted_tree<Nodes>> kernel{
                {criterion_, proposed, view, seed_, position, round}, decided_tree_.data()};
            on_.launch(kernel.blocks(), kernel);
        } else {
            walk(criterion_, proposed, view, position, round);
        }
    }

    /// Where kernels and the host find the outcome of the last judgement of a chain, once it is done; of a tree.
    const chain_verdict* decided() const { return decided_.data(); }
    const tree_verdict* decided_tree() const { return decided_tree_.data(); }

    /// The outcome of the last judgement of a chain: sixteen bytes that the host shares. Waits until it is done.
    /// Into storage that was another's.
    void result(verdict& out) const {
        on_.wait();
        const chain_verdict decided = *decided_.data();
        out.drafted = decided.drafted;
        out.accepted = decided.accepted;
        out.next = decided.next;
        out.path.clear();
        out.at_leaf = false;
    }
    verdict result() const {
        verdict out;
        result(out);
        return out;
    }
    /// The same of a tree, whose nodes have these parents, or of a drafted_tree that is a chain of so many.
    void result(std::span<const std::int32_t> parents, std::size_t drafted, verdict& out) const {
        on_.wait();
        const tree_verdict decided = *decided_tree_.data();
        out.drafted = drafted;
        out.accepted = decided.accepted;
        out.next = decided.next;
        out.path.resize(parents.empty() ? 0 : decided.accepted);
        std::int32_t node = decided.last;
        for (std::size_t i = out.path.size(); i > 0; node = parents[static_cast<std::size_t>(node)]) {
            out.path[--i] = static_cast<std::size_t>(node);
        }
        out.at_leaf = !parents.empty() && parents::next_child(parents, drafted, decided.last, 0) == drafted;
    }

    std::size_t memory_bytes() const {
        return weighed_.memory_bytes() + edits_.memory_bytes() + outcomes_.memory_bytes() + decided_.memory_bytes() +
               decided_tree_.memory_bytes() + order_.memory_bytes() + laws_.memory_bytes();
    }

 private:
    template <class By, class Tree>
    void walk(const By& criterion, const Tree& proposed, const weighed_view& view, std::size_t position,
              std::size_t round) const {
        const accept_tree<By, Tree> kernel{
            {criterion, proposed, view, seed_, position, round}, outcomes_.data(), decided_tree_.data()};
        on_.launch(kernel.blocks(), kernel);
    }

    void check_size(std::size_t drafted) const {
        if (drafted >= most_rows_) {
            augur::detail::fail("a round of at most ", most_rows_, " rows cannot judge ", drafted, " drafted tokens");
        }
    }

    /// Edited, scanned, cut and weighed.
    weighed_view prepared(const float* rows, const auto& nodes, std::size_t position,
                          const std::int32_t* parents = nullptr) const {
        check_size(nodes.size);
        return weighed_.prepare(
            edits_.edited({rows, nodes.size + 1, vocabulary_size_}, nodes.tokens, position, parents));
    }

    S on_;
    std::size_t vocabulary_size_, most_rows_;
    std::uint64_t seed_;
    Criterion criterion_;
    weighed_rows<S> weighed_;
    row_edits<S> edits_;
    buffer<tree_outcome, S> outcomes_;
    buffer<tree::ranked_token, S> order_;
    buffer<double, S> laws_;
    shared_buffer<chain_verdict, S> decided_;
    shared_buffer<tree_verdict, S> decided_tree_;
};

}  // namespace augur::backend::device
