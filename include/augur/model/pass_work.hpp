#pragma once
// A pass as a work item that a suspended round waits for.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/flow/task.hpp"
#include "augur/flow/work.hpp"
#include "augur/model/run.hpp"
#include "augur/types/error.hpp"

namespace augur::model {

/// One pass of a model, and its rows once it is done. A batch computes those of one model together; an event loop of
/// one's own finds it by of(), runs asked_pass() whenever its engine likes, and answers.
template <Model M>
class pass_work : public flow::work {
 public:
    /// Without `Trees` for chains only (model::run).
    template <bool Trees = true>
    pass_work(const M& model, const pass<sequence_t<M>>& asked, std::bool_constant<Trees> = {})
        : work(&model, &pass_work::run_passes<Trees>, &kind),
          model_(&model),
          asked_(asked),
          length_(model.length(*asked.sequence)),
          wanted_(rows_of(model, asked)),
          waited_(waiting()) {}

    /// The work, if it is a pass of this model; else null.
    static pass_work* of(flow::work* wanted, const M& model) {
        if (wanted == nullptr) return nullptr;
        auto* const found = static_cast<pass_work*>(wanted);
        return same_kind(*wanted) && found->model_ == &model ? found : nullptr;
    }

    const M& model() const { return *model_; }
    const pass<sequence_t<M>>& asked_pass() const { return asked_; }

    /// The rows that were wanted, by a pass that was run elsewhere: the sequence now holds the tokens. Throws, and
    /// changes nothing, where it does not, or where rows are missing or as long as no row of this model.
    void answer(made_rows_t<M> rows) {
        using augur::detail::fail;
        const std::size_t holds = model_->length(*asked_.sequence);
        const std::size_t expected = length_ + (asked_.parents.empty() ? asked_.tokens.size() : 0);
        if (holds != expected) {
            fail("a pass of ", asked_.tokens.size(), " tokens after ", length_,
                 " was answered, but its sequence holds ", holds, " tokens, not ", expected);
        }
        if (waiting() != waiting_after()) {
            fail("a pass through layers from ", asked_.from_layer, " on was answered, but ", waiting(),
                 " positions of its sequence wait for others, not ", waiting_after());
        }
        check_made(*model_, rows, wanted_);
        rows_ = pass_rows<M>(std::move(rows), 0, wanted_);
        keep_rows();
        set_done();
    }

 protected:
    ~pass_work() = default;
    pass_rows<M> rows_;

 private:
    /// Positions of the sequence that lack layers.
    std::size_t waiting() const {
        if constexpr (SplitModel<M>) {
            return model_->waiting(*asked_.sequence);
        } else {
            return 0;
        }
    }
    std::size_t waiting_after() const { return asked_.to_layer != all_layers ? waited_ + asked_.tokens.size() : 0; }

    static bool same_kind(const flow::work& other) { return flow::work::kind_of(other) == &kind; }
    static constexpr char kind = 0;

    /// Storage for the passes of a run: a thread keeps it, so that a turn of a batch allocates nothing.
    struct together {
        std::size_t room = 0;
        std::unique_ptr<pass<sequence_t<M>>[]> passes {};
        std::unique_ptr<pass_rows<M>[]> results {};

        void reserve(std::size_t count) {
            if (count <= room) return;
            room = 2 * count;
            passes.reset(new pass<sequence_t<M>>[room]);
            results.reset(new pass_rows<M>[room]);
        }
    };

    /// Where the model runs them one after another anyway, each fails for itself: layers that were finished are not
    /// asked for twice.
    template <bool Trees>
    static void run_passes(std::span<flow::work* const> all) {
        auto* const first = static_cast<pass_work*>(all.front());
        if (all.size() == 1) return first->template run_alone<Trees>();
        if (!std::all_of(all.begin(), all.end(), [](const flow::work* each) { return is_together(*each); })) {
            for (flow::work* each : all) each->run();
            return;
        }
        static thread_local together spare;
        together here = std::exchange(spare, {});  // a model may run others inside
        here.reserve(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) here.passes[i] = static_cast<pass_work*>(all[i])->asked_;
        model::run<M, Trees>(*first->model_, {here.passes.get(), all.size()}, {here.results.get(), all.size()});
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto& each = *static_cast<pass_work*>(all[i]);
            each.rows_ = std::exchange(here.results[i], {});
            each.keep_rows();
        }
        spare = std::move(here);
    }

    template <bool Trees>
    void run_alone() {
        take_back();
        model::run<M, Trees>(*model_, {&asked_, 1}, {&rows_, 1});
        check_made(rows_.size(), wanted_);  // others, if another run has finished what waited
        if (!this->goes_on_at_once()) keep_rows();
    }
    /// Others may be run before the round goes on.
    void keep_rows() {
        if (limits_of(*model_).rows_end_with_next_run) rows_.keep();
    }
    /// A run that threw, of this pass together with others, may have made its sequence grow before.
    void take_back() {
        using augur::detail::fail;
        auto& sequence = *asked_.sequence;
        if (static_cast<std::size_t>(model_->length(sequence)) > length_) model_->truncate(sequence, length_);
        const auto holds = static_cast<std::size_t>(model_->length(sequence));
        if (holds == length_ && waiting() == waited_) return;
        fail("a pass of ", asked_.tokens.size(), " tokens cannot be repeated after its run has thrown: its sequence ",
             "held ", length_, " tokens, of which ", waited_, " waited for layers, and now holds ", holds,
             ", of which ", waiting(), " wait");
    }
    static bool is_together(const flow::work& of) {
        const auto& own = static_cast<const pass_work&>(of);
        return BatchModel<M> && runs_itself(*own.model_, own.asked_);
    }

    const M* model_;
    pass<sequence_t<M>> asked_;
    std::size_t length_;  // of the sequence before it
    std::size_t wanted_;  // rows
    std::size_t waited_;  // positions, before it
};

}  // namespace augur::model
