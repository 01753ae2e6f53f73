#pragma once
// Verifies on a device for decode::step: tokens are copied there, a verdict is copied back.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/accept/concept.hpp"
#include "augur/accept/multipath_block.hpp"
#include "augur/backend/device/judge_greatest.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/send.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/uploaded_draft_rows.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/device_verifier.hpp"
#include "augur/model/pass.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/verdict.hpp"

namespace augur::backend::device {

/// A model whose rows stay in the memory of a System: `system()`; `extend_there(sequence, tokens, last)`, which
/// launches what makes the last rows; `logits(sequence)`, where they are, rows x vocabulary; `rows(sequence)`, the same
/// on the host.
template <class M>
concept KeepsRows = Model<M> && requires(const M& model, sequence_t<M>& sequence, std::span<const token> tokens) {
    requires System<std::remove_cvref_t<decltype(model.system())>>;
    model.extend_there(sequence, tokens, tokens.size());
    { model.logits(sequence) } -> std::same_as<const float*>;
    { model.rows(sequence) } -> LogitRows;
};

/// `run_there(pass)`: any pass, in the place of extend_there, so that trees are judged there, too.
template <class M>
concept RunsThere = KeepsRows<M> && TreeModel<M> && requires(const M& model, const pass<sequence_t<M>>& asked) {
    model.run_there(asked);
};

/// What a model returns from make_device_verifier (round/device_verifier.hpp). Holds memory for the rounds seen so
/// far; a larger one takes more. Effect: the criterion's, bit for bit as round_judge says. Cost: round_judge's; four
/// bytes per drafted token go there, of a tree eight, and the draft distribution of tokens that were drawn, four per
/// token of the vocabulary, and for a mask one per row and eight tokens of the vocabulary; sixteen come back, and
/// the host waits once. entropy_nats waits once more.
template <class M, DeviceCriterion Criterion>
class device_verifier {
 public:
    device_verifier(const M& model, const Criterion& criterion, const transform::settings& chosen,
                    const random::philox_chooser& by)
        : model_(&model), criterion_(criterion), chosen_(chosen), seed_(by.seed()) {}

    explicit operator bool() const { return true; }
    bool takes_trees() const { return RunsThere<M>; }

    template <class Sequence>
    void judge(const pass<Sequence>& asked, const prefix& before, const judged_proposal& proposed, std::size_t round,
               verdict& out) {
        if constexpr (ReturnsVerdict<Criterion, point_mass>) require_chain(proposed.parents());
        if constexpr (JudgesGreatest<Criterion>) require_siblings_of_one_row(proposed);
        require(proposed.size() + 1);
        judge_->on_commit(before);
        const auto& on = model_->system();
        send(on, drafted_.data(), proposed.tokens());
        if (proposed.is_certain()) {
            run(asked);
            return decide(certain_chain{drafted_.data(), proposed.size()}, asked, before, proposed, round, out);
        }
        uploaded_.upload(on, proposed, model_->vocabulary_size(), rows_);
        run(asked);
        decide(uploaded_.of(drafted_.data(), proposed.size()), asked, before, proposed, round, out);
    }

    template <class Sequence>
    auto rows(const Sequence& sequence) const {
        return model_->rows(sequence);
    }

    template <class Sequence>
    double entropy_nats(const Sequence& sequence, std::size_t row) {
        if (!scanner_) scanner_.emplace(model_->system(), model_->vocabulary_size(), 1);
        const scanned_row* const there = scanner_->scan(model_->logits(sequence) + row * model_->vocabulary_size(), 1);
        scanned_row seen;
        model_->system().download(&seen, there, sizeof seen);
        return seen.entropy_nats;
    }

 private:
    using system_type = std::remove_cvref_t<decltype(std::declval<const M&>().system())>;

    template <class Sequence>
    void run(const pass<Sequence>& asked) {
        if constexpr (RunsThere<M>) {
            model_->run_there(asked);
        } else {
            model_->extend_there(*asked.sequence, asked.tokens, asked.rows);
        }
    }

    /// A criterion of whole trees judges chains as trees.
    template <class Nodes, class Sequence>
    void decide(const Nodes& nodes, const pass<Sequence>& asked, const prefix& before, const judged_proposal& proposed,
                std::size_t round, verdict& out) {
        const float* const rows = model_->logits(*asked.sequence);
        const std::size_t position = before.size();
        judge_->on_draft(before, proposed.tokens(), proposed.parents());  // asks a mask while the model runs
        if constexpr (KernelCriterion<Criterion>) {
            if (proposed.is_chain()) {
                judge_->judge(rows, nodes, position, round);
                return judge_->result(out);
            }
        }
        send(model_->system(), parents_.data(), proposed.parents());
        const std::int32_t* const parents = proposed.is_chain() ? nullptr : parents_.data();
        judge_->judge(rows, drafted_tree<Nodes>{nodes, parents, model_->vocabulary_size()}, position, round);
        judge_->result(proposed.parents(), proposed.size(), out);
    }

    /// Before anything runs, also of those that the host would not meet.
    void require_siblings_of_one_row(const judged_proposal& proposed) const {
        if (!(chosen_.temperature.value > 0)) return;
        for (std::size_t node = 0; node < proposed.size(); ++node) {
            accept::require_one_row(proposed.parents(), proposed.size(), node,
                                    [&](std::size_t i) -> const distribution& { return proposed.row(i); });
        }
    }

    void require(std::size_t rows) {
        if (rows <= rows_) return;
        const std::size_t enough = std::max(2 * rows_, rows);
        judge_.emplace(model_->system(), model_->vocabulary_size(), enough, chosen_, seed_, criterion_);
        drafted_ = buffer<token, system_type>(model_->system(), enough);
        parents_ = buffer<std::int32_t, system_type>(model_->system(), enough);
        rows_ = enough;
    }

    const M* model_;
    Criterion criterion_;
    transform::settings chosen_;
    std::uint64_t seed_;
    std::size_t rows_ = 0;  // that there is room for
    std::optional<round_judge<Criterion, system_type>> judge_;
    std::optional<row_scanner<system_type>> scanner_;
    buffer<token, system_type> drafted_;
    buffer<std::int32_t, system_type> parents_;
    uploaded_draft_rows<system_type> uploaded_;
};

}  // namespace augur::backend::device
