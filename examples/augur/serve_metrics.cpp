#include "serve_metrics.hpp"

#include <augur/types/error.hpp>
#include <cmath>
#include <string_view>
#include <vector>

namespace augur::program {
namespace {

/// Lines of one name.
class family {
 public:
    family(std::string& out, std::string_view name, std::string_view kind, std::string_view help)
        : out_(&out), name_(detail::message("augur_", name)) {
        out += detail::message("# HELP ", name_, " ", help, "\n# TYPE ", name_, " ", kind, "\n");
    }
    /// `labels`: name="value", or nothing.
    void add(const auto& value, const std::string& labels = "") {
        *out_ += name_ + (labels.empty() ? "" : "{" + labels + "}") + " " + detail::message(value) + "\n";
    }

 private:
    std::string* out_;
    std::string name_;
};

}  // namespace

void serve_metrics::note(const decode::served& result, bool drafts) {
    const std::lock_guard lock(mutex_);
    of_drafter& all = drafters_[drafts ? 1 : 0];
    ++all.texts;
    all.tokens += result.tokens.size();
    if (!result.counts.stages.empty()) {
        const stage_statistics& target = result.counts.stages.back();
        all.rounds += target.rounds;
        all.drafted += target.drafted;
        all.accepted += target.accepted;
    }
    if (!std::isfinite(result.first_token_seconds)) return;
    all.seconds += result.seconds - result.first_token_seconds;
    first_token_seconds_ += result.first_token_seconds;
    ++first_tokens_;
}

std::string serve_metrics::text(const request_decoder& decoder, const std::map<int, std::size_t>& answers,
                                std::size_t connections, const std::string& drafter) const {
    const decode::scheduler_counters now = decoder.counters();
    std::string out;
    const auto one = [&](std::string_view name, std::string_view kind, std::string_view help, const auto& value) {
        family(out, name, kind, help).add(value);
    };
    family http(out, "http_answers_total", "counter", "HTTP answers by status");
    for (const auto& [status, count] : answers) http.add(count, detail::message("status=\"", status, '"'));
    one("http_connections", "gauge", "Open connections", connections);

    family ends(out, "texts_total", "counter", "Texts that have ended, by how");
    ends.add(now.finished, "end=\"finished\"");
    ends.add(now.cancelled, "end=\"cancelled\"");
    ends.add(now.expired, "end=\"expired\"");
    ends.add(now.failed, "end=\"failed\"");
    one("texts_refused_total", "counter", "Texts that the scheduler did not take", now.refused);
    one("texts_waiting", "gauge", "Texts in line", now.waiting);
    one("texts_prefilling", "gauge", "Texts whose prompts are computed", now.prefilling);
    one("batch_texts", "gauge", "Texts that are decoded together", now.running);
    one("cache_reserved_tokens", "gauge", "Tokens that caches have room reserved for", now.reserved_tokens);
    one("cache_reserved_bytes", "gauge", "The same in bytes, 0 where the engine does not count them",
        now.reserved_bytes);
    one("steps_total", "counter", "Steps of the scheduler", now.steps);
    one("rounds_total", "counter", "Rounds of single texts", now.rounds);
    one("prompt_tokens_total", "counter", "Prompt tokens computed", now.prefilled_tokens);
    one("generated_tokens_total", "counter", "Tokens generated", now.generated_tokens);
    one("drafted_tokens_total", "counter", "Drafted tokens that were verified", now.drafted_tokens);
    one("accepted_tokens_total", "counter", "Of these, accepted", now.accepted_tokens);

    family passes(out, "pass_seconds", "gauge", "Estimated seconds of a pass of the target, by rows");
    for (const auto& each : decoder.pass_times()) passes.add(each.seconds, detail::message("rows=\"", each.rows, '"'));

    const std::lock_guard lock(mutex_);
    one("first_token_seconds_sum", "counter", "Seconds from arrival to the first token, of all texts that had one",
        first_token_seconds_);
    one("first_token_seconds_count", "counter", "Texts that had a first token", first_tokens_);
    const auto by_drafter = [&](std::string_view name, std::string_view kind, std::string_view help, auto value) {
        family all(out, name, kind, help);
        for (std::size_t i = 0; i < drafters_.size(); ++i) {
            if (i == 1 && drafter == "plain") continue;
            if (drafters_[i].texts > 0) all.add(value(drafters_[i]), "drafter=\"" + (i == 0 ? "plain" : drafter) + '"');
        }
    };
    by_drafter("drafter_tokens_total", "counter", "Tokens of ended texts", [](const auto& of) { return of.tokens; });
    by_drafter("drafter_rounds_total", "counter", "Rounds of ended texts", [](const auto& of) { return of.rounds; });
    by_drafter("drafter_seconds_total", "counter", "Seconds from first tokens to ends of ended texts",
               [](const auto& of) { return of.seconds; });
    by_drafter("accepted_length", "gauge", "Tokens a round of ended texts", [](const auto& of) {
        return of.rounds == 0 ? 0.0 : static_cast<double>(of.tokens) / static_cast<double>(of.rounds);
    });
    return out;
}

}  // namespace augur::program
