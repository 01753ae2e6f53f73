#pragma once
// The allotment of rows to a proposal: how many of its nodes the target's next pass verifies.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "augur/flow/task.hpp"
#include "augur/flow/work.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/proposal.hpp"

namespace augur::rounds {

/// co_await allotment(proposed, seen): a round that shares its target's passes with others stops here between draft and
/// verification, whatever it has drafted. grant() says how many of the first nodes are verified; done as other work
/// (flow::work::run) it grants all. A grant keeps the distribution if it depends on what was known before the draft
/// (`seen`'s first row and match, earlier rounds, costs, other sequences), and, where tokens were not drawn, on
/// confidences too; never on the value of a token that was drawn.
class allotment : public flow::work {
 public:
    /// Both must outlive it.
    allotment(const augur::detail::drafted_nodes& proposed, const observation& seen, bool drawn)
        : work(&kind, &allotment::grant_all, &kind),
          proposed_(&proposed),
          seen_(&seen),
          drawn_(drawn),
          granted_(proposed.size()) {}

    /// The work, if it is one; else null.
    static allotment* of(flow::work* wanted) {
        return wanted != nullptr && kind_of(*wanted) == &kind ? static_cast<allotment*>(wanted) : nullptr;
    }

    /// Nodes that were drafted.
    std::size_t size() const { return proposed_->size(); }
    /// Of every node; empty where they are a chain.
    std::span<const std::int32_t> parents() const { return proposed_->parents(); }
    /// Of tokens that were picked by a rule: the probability that the drafter gives each after its parent, where it
    /// says so; else empty.
    std::span<const float> confidences() const { return drawn_ ? std::span<const float>() : proposed_->confidences(); }
    /// What the policy saw last. Of tokens that were drawn only what was known before the first of them counts.
    const observation& seen() const { return *seen_; }

    /// At most all; the rest is not verified.
    void grant(std::size_t nodes) {
        granted_ = std::min(nodes, size());
        set_done();
    }

    bool await_ready() const noexcept { return false; }
    void await_suspend(flow::task::handle by) noexcept { by.promise().stop(*this, by); }
    std::size_t await_resume() const {
        check();
        return granted_;
    }

 private:
    static constexpr char kind = 0;
    static void grant_all(std::span<flow::work* const>) {}

    const augur::detail::drafted_nodes* proposed_;
    const observation* seen_;
    bool drawn_;
    std::size_t granted_;
};

}  // namespace augur::rounds
