#pragma once
// Training diagnostics of a head, as JSON lines.

#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "augur/train/losses.hpp"

namespace augur::train {

/// Of the last update's batch, where nothing else is said.
struct diagnostics {
    std::size_t updates = 0;        ///< applied
    std::size_t dropped = 0;        ///< for a NaN or an infinity in the gradient or after the step
    std::size_t samples = 0;        ///< in the ring
    std::size_t accepted = 0;       ///< of these
    std::size_t refused = 0;        ///< samples that were not finite
    std::size_t replay_bytes = 0;   ///< of the ring, without the states of texts
    std::size_t tokens = 0;         ///< committed, in the runs before a checkpoint too
    double lambda = 1, anchor = 0;  ///< weights of the last update
    loss_values losses;             ///< means; losses.top_probability is pi_s(v)
    double std_s = 0;               ///< standard deviation of the head's logits, mean over samples
    double std_t = 0;               ///< of the verifier's
    double agreement = 0;           ///< share of samples where the head's largest logit is the verifier's
    double acceptance = 0;          ///< moving average over judged tokens
    double exit_norm = 1;           ///< |W_exit| / |W|, now and then
    double alpha = 1;
    double gradient_norm = 0;  ///< before clipping
    double update_seconds = 0, training_seconds = 0, decoding_seconds = 0;
};

/// One object of JSON, on one line, without its end; what is no number is null.
inline void write_json(std::ostream& out, const diagnostics& d) {
    const auto before = out.precision(9);
    const char* separator = "{";
    const auto number = [&](const char* name, double value) {
        out << separator << '"' << name << "\":";
        if (std::isfinite(value)) {
            out << value;
        } else {
            out << "null";
        }
        separator = ",";
    };
    const auto count = [&](const char* name, std::size_t value) {
        out << separator << '"' << name << "\":" << value;
        separator = ",";
    };
    count("updates", d.updates);
    count("dropped", d.dropped);
    count("samples", d.samples);
    count("accepted_samples", d.accepted);
    count("refused_samples", d.refused);
    count("replay_bytes", d.replay_bytes);
    count("tokens", d.tokens);
    number("lambda", d.lambda);
    number("anchor", d.anchor);
    number("loss", d.losses.total);
    number("policy_loss", d.losses.policy);
    number("kl", d.losses.divergence);
    number("anchor_loss", d.losses.anchor);
    number("entropy_nats", d.losses.entropy_nats);
    number("pi_s_v", d.losses.top_probability);
    number("std_s", d.std_s);
    number("std_t", d.std_t);
    number("agreement", d.agreement);
    number("acceptance", d.acceptance);
    number("exit_norm", d.exit_norm);
    number("alpha", d.alpha);
    number("slope_norm", d.gradient_norm);
    number("update_seconds", d.update_seconds);
    number("training_seconds", d.training_seconds);
    number("decoding_seconds", d.decoding_seconds);
    out << '}';
    out.precision(before);
}

/// What DVI's notes say of these numbers, `before` being some hundred updates older; nothing where all is well.
/// Source: DVI, notes 4, 7, 8 and 9.
inline std::vector<std::string> reading(const diagnostics& now, const diagnostics& before) {
    std::vector<std::string> notes;
    const auto note = [&](bool holds, const char* text) {
        if (holds) notes.emplace_back(text);
    };
    note(now.std_s > 1.5 * now.std_t, "std_s >> std_t: lower the anchor, or add entropy");
    note(1.5 * now.std_s < now.std_t, "std_s << std_t: raise the scale or the anchor slightly");
    note(now.exit_norm > 1.5, "exit norm above 1.5: turn the clamp on");
    note(now.alpha > 1.5 * before.alpha, "alpha grows fast: the head becomes over-confident; lower the anchor");
    const bool had_losses = before.std_t > 0;  // not before the first update, nor after a restore
    note(had_losses && std::abs(now.alpha - before.alpha) < 0.01 * std::abs(before.alpha) &&
             now.losses.total > 1.1 * before.losses.total && now.losses.total > 0,
         "alpha is level and the loss rises: the head is too small; raise the rank, lower weight decay");
    note(now.lambda < before.lambda && now.acceptance < 0.9 * before.acceptance,
         "acceptance falls as KL does: raise tau or the floor");
    note(now.dropped > before.dropped, "updates were dropped: hidden states or logits overflow; lower the rate");
    return notes;
}

}  // namespace augur::train
