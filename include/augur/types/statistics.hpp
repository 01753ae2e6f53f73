#pragma once
// Decoding statistics. Their sums agree with the tokens that were returned.

#include <array>
#include <cstddef>
#include <vector>

#include "augur/types/verdict.hpp"

namespace augur {

/// Counts of one stage (a verifier and what drafts for it).
struct stage_statistics {
    struct at_position {
        std::size_t drafted = 0;
        std::size_t accepted = 0;
    };

    std::size_t rounds = 0;              ///< verify passes
    std::size_t drafted = 0;             ///< tokens proposed
    std::size_t accepted = 0;            ///< of these, tokens that were committed
    std::vector<at_position> positions;  ///< the same by position in the proposal, first at 0

    double acceptance() const {
        return drafted == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(drafted);
    }

    /// Memory for a pass of so many drafted tokens: to add it then allocates nothing.
    void reserve(std::size_t round_drafted) {
        if (positions.capacity() < round_drafted) positions.reserve(round_drafted);
    }

    /// One verify pass, of whose drafted tokens the first `round_accepted` were committed: at most all of them.
    void add(std::size_t round_drafted, std::size_t round_accepted) {
        ++rounds;
        drafted += round_drafted;
        accepted += round_accepted;
        if (positions.size() < round_drafted) positions.resize(round_drafted);
        for (std::size_t i = 0; i < round_drafted; ++i) ++positions[i].drafted;
        for (std::size_t i = 0; i < round_accepted; ++i) ++positions[i].accepted;
    }
};

/// What one model did, where several take turns at writing.
struct model_statistics {
    std::size_t written = 0;    ///< tokens that were committed from its rows
    std::size_t drafted = 0;    ///< tokens that it guessed for a better model
    std::size_t passes = 0;     ///< forward passes
    std::size_t caught_up = 0;  ///< tokens that it only read, because another model had written them
    double seconds = 0;         ///< in its passes
};

/// Turns that changed, and that could not, where models take turns; with a codec between them if not said otherwise.
struct turn_statistics {
    std::size_t switches = 0;  ///< that took place, with or without a codec
    std::size_t waited = 0;    ///< tokens after which a switch had to wait for the end of a code point
    std::size_t lost = 0;      ///< switches dropped: the codec did not give the text back
    std::size_t full = 0;      ///< switches dropped: the text did not fit the context
};

/// Wall-clock seconds by activity. `other` is what the loop itself took.
struct time_spent {
    double prefill = 0;
    double draft = 0;
    double verify = 0;
    double accept = 0;
    double other = 0;

    double total() const { return prefill + draft + verify + accept + other; }
    double decoding() const { return total() - prefill; }

    time_spent& operator+=(const time_spent& more) {
        prefill += more.prefill;
        draft += more.draft;
        verify += more.verify;
        accept += more.accept;
        other += more.other;
        return *this;
    }
};

/// Law: committed() == number of tokens returned.
struct statistics {
    std::vector<stage_statistics> stages = std::vector<stage_statistics>(1);  ///< last: the target
    std::array<std::size_t, 4> origins{};                                     ///< committed tokens by augur::origin
    time_spent seconds;
    std::vector<model_statistics> models;  ///< cheapest first; none where one model writes
    turn_statistics turns;

    std::size_t count(origin of) const { return origins[static_cast<std::size_t>(of)]; }
    std::size_t committed() const { return origins[0] + origins[1] + origins[2] + origins[3]; }
    std::size_t rounds() const { return stages.back().rounds; }
    double acceptance() const { return stages.back().acceptance(); }
    /// Tokens committed per verify pass.
    double accepted_length() const {
        return rounds() == 0 ? 0 : static_cast<double>(committed()) / static_cast<double>(rounds());
    }
};

}  // namespace augur
