#include "serve_answer.hpp"

#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <string_view>
#include <utility>

#include "message.hpp"
#include "serve_error.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;
constexpr auto short_while = std::chrono::milliseconds(50);

json reason_of(finish_reason why) {
    return why == finish_reason::stop_token || why == finish_reason::stop_string ? "stop" : "length";
}

std::string event(const json& object) {
    return "data: " + json_line(object) + "\n";
}

std::string message_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& problem) {
        return problem.what();
    } catch (...) {
        return "something was thrown that is no exception";
    }
}

/// Unlike those of other answers of this process, and very likely of others.
std::string new_id(bool chat) {
    static std::atomic<unsigned long> count = 0;
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    return std::string(chat ? "chatcmpl-" : "cmpl-") + std::to_string(now) + "-" + std::to_string(++count);
}

}  // namespace

/// Shared with the decoding thread, which may outlive the answer.
struct completion_answer::mailbox {
    std::mutex mutex{};
    std::condition_variable wake{};
    std::deque<piece> pieces{};
    std::vector<std::optional<decode::served>> results{};
    std::vector<std::size_t> shown{};  ///< bytes of each text that are in pieces
    std::size_t ended = 0;
    bool stream = false;

    void add(std::size_t choice, const commit::committed_token& t) {
        if (!stream || t.text.empty()) return;
        const std::lock_guard lock(mutex);
        shown[choice] += t.text.size();
        pieces.push_back({choice, t.text, t.from, false});
        wake.notify_all();
    }
    void end(std::size_t choice, const decode::served& result) {
        const std::lock_guard lock(mutex);
        results[choice] = result;
        ++ended;
        if (stream) {
            const std::string rest = result.written ? result.written->substr(shown[choice]) : "";
            pieces.push_back({choice, rest, origin::plain, true});
        }
        wake.notify_all();
    }
};

completion_answer::completion_answer(completion_request asked, const served_model& model, request_decoder& decoder,
                                     serve_metrics& metrics, double seconds)
    : asked_(std::move(asked)),
      model_(model),
      decoder_(decoder),
      id_(new_id(asked_.chat)),
      created_(static_cast<long>(std::time(nullptr))),
      box_(std::make_shared<mailbox>()) {
    box_->results.resize(asked_.choices());
    box_->shown.resize(asked_.choices());
    box_->stream = asked_.stream;
    const auto limit = std::chrono::duration<double>(seconds);
    const auto deadline =
        decode::deadline_clock::now() + std::chrono::duration_cast<decode::deadline_clock::duration>(limit);
    try {
        for (std::size_t choice = 0; choice < asked_.choices(); ++choice) submit(choice, metrics, deadline);
    } catch (const error& problem) {
        cancel();
        throw api_error(400, "invalid_value", problem.what());
    } catch (...) {
        cancel();
        throw;
    }
}

void completion_answer::submit(std::size_t choice, serve_metrics& metrics,
                               decode::deadline_clock::time_point deadline) {
    decode::request one{.prompt = asked_.prompts[choice / asked_.n],
                        .seed = asked_.seed + choice % asked_.n,
                        .sampling = asked_.sampling,
                        .stop = asked_.stop,
                        .deadline = deadline};
    if (asked_.most_drafted) one.most_drafted = *asked_.most_drafted;
    one.on_token = [box = box_, choice](const commit::committed_token& t) {
        box->add(choice, t);
        return true;
    };
    one.on_end = [box = box_, choice, drafts = one.most_drafted > 0, &metrics](const decode::served& result) {
        metrics.note(result, drafts);
        box->end(choice, result);
    };
    const decode::submission got = decoder_.submit(std::move(one));
    if (got) return ids_.push_back(got.id);
    const int status = got.why == decode::refusal::draining ? 503 : 429;
    throw api_error(status, std::string(name_of(got.why)), "the request is not taken: " + got.detail);
}

void completion_answer::cancel() {
    for (const decode::request_id id : ids_) decoder_.cancel(id);
}

completion_answer::~completion_answer() {
    cancel();
}

json completion_answer::head(bool chunk) const {
    const char* const object = !asked_.chat ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion";
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.name}, {"seed", asked_.seed}};
}

/// Throws what the text ended with, where that is no text.
void completion_answer::check(std::size_t choice) const {
    const decode::served& result = *box_->results[choice];
    switch (result.how) {
        case decode::request_end::finished:
            if (result.finish != finish_reason::invalid_logits) return;
            throw api_error(500, "invalid_logits", result.detail);
        case decode::request_end::expired:
            throw api_error(504, "deadline",
                            "the request's time is over after " + std::to_string(result.seconds) + " s and " +
                                std::to_string(result.tokens.size()) + " tokens");
        case decode::request_end::failed:
            throw api_error(500, "failed", message_of(result.failure));
        case decode::request_end::cancelled:
            throw api_error(503, "cancelled", "the server ends, and the request with it");
    }
}

json completion_answer::choice_of(std::size_t choice) const {
    const decode::served& result = *box_->results[choice];
    const std::string text = result.written.value_or("");
    json one{{"index", choice}};
    if (asked_.chat) {
        one["message"] = {{"role", "assistant"}, {"content", text}};
    } else {
        one["text"] = text;
    }
    one["logprobs"] = nullptr;
    one["finish_reason"] = reason_of(result.finish);
    return one;
}

json completion_answer::usage() const {
    std::size_t prompt = 0, completion = 0, drafted = 0, accepted = 0, rounds = 0;
    for (const auto& each : asked_.prompts) prompt += each.size();
    for (const auto& each : box_->results) {
        completion += each->tokens.size();
        if (each->counts.stages.empty()) continue;
        const stage_statistics& target = each->counts.stages.back();
        drafted += target.drafted;
        accepted += target.accepted;
        rounds += target.rounds;
    }
    return {{"prompt_tokens", prompt},
            {"completion_tokens", completion},
            {"total_tokens", prompt + completion},
            {"completion_tokens_details",
             {{"accepted_prediction_tokens", accepted}, {"rejected_prediction_tokens", drafted - accepted}}},
            {"drafted_tokens", drafted},
            {"accepted_tokens", accepted},
            {"rounds", rounds}};
}

std::optional<json> completion_answer::whole(const std::function<bool()>& is_gone) {
    std::unique_lock lock(box_->mutex);
    while (!box_->wake.wait_for(lock, short_while, [&] { return box_->ended == asked_.choices(); })) {
        if (is_gone()) return std::nullopt;
    }
    json answer = head(false);
    answer["choices"] = json::array();
    for (std::size_t choice = 0; choice < asked_.choices(); ++choice) {
        check(choice);
        answer["choices"].push_back(choice_of(choice));
    }
    answer["usage"] = usage();
    return answer;
}

json completion_answer::chunk_of(const piece& one) const {
    json choice{{"index", one.choice}};
    if (asked_.chat) {
        choice["delta"] = json::object();
        if (!one.text.empty()) choice["delta"]["content"] = one.text;
    } else {
        choice["text"] = one.text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = nullptr;
    if (one.ends) choice["finish_reason"] = reason_of(box_->results[one.choice]->finish);
    if (!one.ends) choice["origin"] = name_of(one.from);
    json chunk = head(true);
    chunk["choices"] = json::array({choice});
    if (asked_.include_usage) chunk["usage"] = nullptr;
    return chunk;
}

/// Of chat: whose turn it is.
std::string completion_answer::first_events() const {
    std::string out;
    for (std::size_t choice = 0; asked_.chat && choice < asked_.choices(); ++choice) {
        json chunk = head(true);
        const json delta{{"role", "assistant"}, {"content", ""}};
        chunk["choices"] =
            json::array({json{{"index", choice}, {"delta", delta}, {"logprobs", nullptr}, {"finish_reason", nullptr}}});
        if (asked_.include_usage) chunk["usage"] = nullptr;
        out += event(chunk);
    }
    return out;
}

std::string completion_answer::next_events() {
    std::string out = begun_ ? "" : first_events();
    begun_ = true;
    std::unique_lock lock(box_->mutex);
    box_->wake.wait_for(lock, short_while, [&] { return !box_->pieces.empty(); });
    try {
        for (; !box_->pieces.empty(); box_->pieces.pop_front()) {
            const piece& one = box_->pieces.front();
            if (one.ends) check(one.choice);
            ended_ += one.ends ? 1 : 0;
            out += event(chunk_of(one));
        }
    } catch (const api_error& problem) {
        over_ = true;
        return out + event(problem.json());
    }
    if (ended_ < asked_.choices()) return out;
    over_ = true;
    if (asked_.include_usage) {
        json last = head(true);
        last["choices"] = json::array();
        last["usage"] = usage();
        out += event(last);
    }
    return out + "data: [DONE]\n\n";
}

}  // namespace augur::program
