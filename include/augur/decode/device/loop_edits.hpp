#pragma once
// Logit bias and penalties in the on-device loop: tokens are counted where they are committed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/backend/device/row_edits.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// Kernel: edit_rows after the tokens that the state says were drafted: before the first row all of them, or none.
template <class State>
struct edit_text {
    static constexpr unsigned threads = edit_rows::threads;

    edit_rows edit;  ///< `drafted` is the text
    const State* state;
    bool after_drafted;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        edit_rows now = edit;
        now.drafted = edit.drafted + state->length;
        now.first = after_drafted ? state->drafted : 0;
        now(team);
    }
};

/// See row_edits; counts() are kept by the kernel that commits. Refuses a mask.
template <System S>
class loop_edits {
 public:
    loop_edits(const S& on, const transform::settings& chosen, std::size_t vocabulary_size, std::size_t most_rows)
        : on_(on),
          penalties_(chosen.penalties),
          biases_(on, std::span<const added_bias>(in_order_of_tokens(chosen.bias))) {
        if (chosen.mask) {
            augur::detail::fail(
                "settings.mask edits logits on the host, which on-device decoding does not return to; "
                "use decode::generate with a model on the device, whose rounds ask it");
        }
        if (!chosen.bias.active() && !penalties_.active()) return;
        edited_ = buffer<float, S>(on, most_rows * vocabulary_size);
        if (penalties_.active()) counts_ = buffer<occurrences, S>(on, vocabulary_size);
    }

    /// Counts the prompt, and nothing else.
    void start(std::span<const token> prompt) const {
        if (counts_.size() == 0) return;
        std::vector<occurrences> counts(counts_.size());
        for (const token t : prompt) ++counts[static_cast<std::size_t>(t)].anywhere;
        on_.upload(counts_.data(), counts.data(), counts.size() * sizeof(occurrences));
    }

    /// By token; null where nothing is counted.
    occurrences* counts() const { return counts_.data(); }

    /// Launches the edits of rows, each after one more of the tokens that stand behind the text: of the target's rows
    /// from the text's end on, or of the draft's row after all of them. Returns where they will be.
    template <class State>
    rows_view edited(const rows_view& of, const token* text, const State* state, bool after_drafted) const {
        if (edited_.size() == 0) return of;
        const edit_rows edit{of, edited_.data(), biases_.data(), biases_.size(), penalties_, counts_.data(), text};
        on_.launch(edit.blocks(), edit_text<State>{edit, state, after_drafted});
        return {edited_.data(), of.count, of.vocabulary_size};
    }

    std::size_t memory_bytes() const {
        return biases_.memory_bytes() + edited_.memory_bytes() + counts_.memory_bytes();
    }

 private:
    S on_;
    transform::penalties penalties_;
    buffer<added_bias, S> biases_;
    buffer<float, S> edited_;
    buffer<occurrences, S> counts_;
};

}  // namespace augur::decode::device
