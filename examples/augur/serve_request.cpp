#include "serve_request.hpp"

#include <algorithm>
#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <augur/io/text/chat_tokens.hpp>
#include <augur/io/text/utf8.hpp>
#include <initializer_list>
#include <random>
#include <string_view>
#include <utility>

#include "serve_error.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;
using reader = io::json_reader<json>;

constexpr std::size_t most_choices = 64, most_stops = 16, most_biases = 1024, default_completion = 16;
constexpr const char* of_request = "the request";

[[noreturn]] void refuse(const std::string& param, const std::string& message, const char* code = "invalid_value") {
    throw api_error(400, code, message, param);
}

/// What `work` returns; what it throws becomes the API's, about this field.
template <class Work>
auto about(const std::string& param, const Work& work) {
    try {
        return work();
    } catch (const error& problem) {
        refuse(param, problem.what());
    }
}

template <class T>
std::optional<T> field(const reader& from, const char* name, const io::json_range<T>& range = {}) {
    return about(name, [&] { return from.optional<T>(name, range); });
}

void check_keys(const json& object, std::initializer_list<std::string_view> known, const std::string& where = "") {
    for (const auto& [key, _] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        std::string valid;
        for (const std::string_view each : known) valid.append(valid.empty() ? "" : ", ").append(each);
        refuse(where + key, "the field " + io::quote(where + key) + " is unknown; there are " + valid, "unknown_field");
    }
}

/// Fields whose one value that can be served says nothing.
void check_unserved(const reader& from, const char* name, const json& served, const char* why) {
    const json* const value = from.find(name);
    if (value == nullptr || *value == served) return;
    refuse(name, std::string(name) + " is " + io::shown(*value) + ", but " + why, "unsupported_value");
}

void check_model(const reader& from, const served_model& model) {
    const auto asked = field<std::string>(from, "model");
    if (!asked || *asked == model.name) return;
    throw api_error(404, "model_not_found",
                    "the model " + io::quote(*asked) + " is not served here; " + io::quote(model.name) + " is",
                    "model");
}

std::vector<token> encode(const std::string& text, const std::string& param, const served_model& model) {
    prompt_options prompt;
    prompt.text = text;
    prompt.text_source = param;
    return about(param, [&] {
        model.words->require("a prompt of text");
        return model.words->encode(prompt);
    });
}

/// A text, or ids.
std::vector<token> read_prompt_of(const json& value, const std::string& param, const served_model& model) {
    if (value.is_string()) return encode(value.get<std::string>(), param, model);
    return about(param, [&] {
        return io::json_value<std::vector<token>>(value, param, {0, static_cast<token>(model.vocabulary - 1)});
    });
}

std::vector<std::vector<token>> read_prompts_of(const reader& from, const served_model& model) {
    const json* const value = from.find("prompt");
    if (value == nullptr) refuse("prompt", "the field prompt is missing");
    const bool is_list = value->is_array() && !value->empty() && !value->front().is_number();
    if (!is_list) return {read_prompt_of(*value, "prompt", model)};
    if (value->size() > most_choices) {
        refuse("prompt", "prompt has " + std::to_string(value->size()) + " entries; at most " +
                             std::to_string(most_choices) + " are taken");
    }
    std::vector<std::vector<token>> all;
    for (const json& each : *value) {
        all.push_back(read_prompt_of(each, "prompt[" + std::to_string(all.size()) + "]", model));
    }
    return all;
}

/// A text, or parts of type text.
std::string content_of(const reader& message, const std::string& where) {
    const json* const content = message.find("content");
    const std::string param = where + ".content";
    if (content == nullptr) refuse(param, param + " is missing");
    if (content->is_string()) return content->get<std::string>();
    if (!content->is_array()) refuse(param, param + " must be a string or an array of parts");
    std::string text;
    for (const json& each : *content) {
        const std::string at = where + ".content[...]";
        const reader part = about(param, [&] { return reader(each, at); });
        check_keys(each, {"type", "text"}, at + ".");
        const auto type = about(param, [&] { return part.required<std::string>("type"); });
        if (type != "text") refuse(param, at + " is of type " + io::quote(type) + "; text alone is served");
        text += about(param, [&] { return part.required<std::string>("text"); });
    }
    return text;
}

std::vector<io::chat_message> messages_of(const reader& from) {
    const json* const list = about("messages", [&] { return from.array("messages"); });
    if (list == nullptr || list->empty()) refuse("messages", "messages must be an array of at least one message");
    std::vector<io::chat_message> all;
    for (const json& each : *list) {
        const std::string where = "messages[" + std::to_string(all.size()) + "]";
        const reader message = about(where, [&] { return reader(each, where); });
        check_keys(each, {"role", "content"}, where + ".");
        const auto role = about(where, [&] { return message.required<std::string>("role"); });
        if (role != "system" && role != "user" && role != "assistant") {
            refuse(where + ".role", where + ".role is " + io::quote(role) + "; valid are system, user, assistant");
        }
        all.push_back({role, content_of(message, where)});
        about(where, [&] {
            io::check_utf8(all.back().content, where + ".content");
            return 0;
        });
    }
    return all;
}

std::vector<token> conversation_of(const reader& from, const served_model& model) {
    if (!model.no_chat.empty()) refuse("messages", model.no_chat, "unsupported_value");
    const std::vector<io::chat_message> messages = messages_of(from);
    return about("messages", [&] {
        if (!model.layout) return model.words->theirs()->encode_chat(messages);
        return io::encode_chat(*model.words->ours(), *model.layout, model.layout->render(messages));
    });
}

transform::bias biases_of(const reader& from, const served_model& model) {
    transform::bias out;
    const json* const given = from.find("logit_bias");
    if (given == nullptr) return out;
    if (!given->is_object()) refuse("logit_bias", "logit_bias must be an object of token ids and numbers");
    if (given->size() > most_biases) {
        refuse("logit_bias", "logit_bias has " + std::to_string(given->size()) + " entries; at most " +
                                 std::to_string(most_biases) + " are taken");
    }
    about("logit_bias", [&] {
        for (const auto& [key, value] : given->items()) {
            const auto id = parse_number<token>("logit_bias", key, static_cast<token>(model.vocabulary - 1));
            const auto by = io::json_value<float>(value, "logit_bias[" + key + "]", {-100, 100});
            const auto is_same = [id = id](const auto& other) { return other.first == id; };
            if (std::any_of(out.added.begin(), out.added.end(), is_same))
                detail::fail("logit_bias names token ", id, " twice");
            out.added.emplace_back(id, by);
        }
        return 0;
    });
    return out;
}

/// Each value is checked by itself, so that the field is named.
transform::settings sampling_of(const reader& from, const served_model& model) {
    transform::settings all;
    const auto read = [&](const char* name, auto transform::settings::*of, auto member, auto fallback) {
        transform::settings one;
        one.*of.*member = field<decltype(fallback)>(from, name).value_or(fallback);
        about(name, [&] { return transform::pipeline(one, model.vocabulary).vocabulary_size(); });
        (all.*of).*member = (one.*of).*member;
    };
    read("temperature", &transform::settings::temperature, &transform::temperature::value, 1.0f);
    read("top_p", &transform::settings::top_p, &transform::top_p::p, all.top_p.p);
    read("min_p", &transform::settings::min_p, &transform::min_p::p, all.min_p.p);
    read("top_k", &transform::settings::top_k, &transform::top_k::k, all.top_k.k);
    read("presence_penalty", &transform::settings::penalties, &transform::penalties::presence, 0.0f);
    read("frequency_penalty", &transform::settings::penalties, &transform::penalties::frequency, 0.0f);
    read("repetition_penalty", &transform::settings::penalties, &transform::penalties::repetition, 1.0f);
    all.bias = biases_of(from, model);
    return all;
}

std::vector<std::string> stops_of(const reader& from) {
    const json* const given = from.find("stop");
    if (given == nullptr) return {};
    std::vector<std::string> all;
    if (given->is_string()) {
        all = {given->get<std::string>()};
    } else {
        all = about("stop", [&] { return io::json_value<std::vector<std::string>>(*given, "stop"); });
    }
    if (all.size() > most_stops) {
        refuse("stop", "stop has " + std::to_string(all.size()) + " strings; at most " + std::to_string(most_stops) +
                           " are taken");
    }
    return all;
}

/// Of chat two names say the same.
std::size_t max_tokens_of(const reader& from, const completion_request& asked, const served_model& model) {
    const auto one = field<std::size_t>(from, "max_tokens");
    const auto other = asked.chat ? field<std::size_t>(from, "max_completion_tokens") : std::nullopt;
    if (one && other && *one != *other) {
        refuse("max_tokens", "max_tokens is " + std::to_string(*one) + " and max_completion_tokens " +
                                 std::to_string(*other) + "; they mean the same, give one of them");
    }
    const auto given = one ? one : other;
    if (!given) return std::min(model.max_tokens, asked.chat ? model.max_tokens : default_completion);
    if (*given < 1 || *given > model.max_tokens) {
        refuse("max_tokens",
               "max_tokens is " + std::to_string(*given) + "; it must be 1 to " + std::to_string(model.max_tokens));
    }
    return *given;
}

commit::stop_conditions stop_conditions_of(const reader& from, const completion_request& asked,
                                           const served_model& model) {
    commit::stop_conditions stop{.max_tokens = max_tokens_of(from, asked, model), .stop_strings = stops_of(from)};
    if (!field<bool>(from, "ignore_eos").value_or(false)) stop.stop_tokens = model.end_tokens;
    if (!model.words->any() && !stop.stop_strings.empty())
        refuse("stop", "stop needs a tokenizer, which the model does not have");
    if (!model.words->any()) return stop;
    stop.text_of = [words = model.words](token id) { return words->bytes_of(id); };
    stop.stop_marks = about("stop", [&] {
        static_cast<void>(commit::text_stream(stop.stop_strings));
        return model.words->stop_marks(stop.stop_strings);
    });
    return stop;
}

void check_what_is_not_served(const reader& from, bool chat) {
    check_unserved(from, "logprobs", chat ? json(false) : json(nullptr), "log-probabilities are not served");
    check_unserved(from, "top_logprobs", nullptr, "log-probabilities are not served");
    check_unserved(from, "response_format", {{"type", "text"}}, "only {\"type\": \"text\"} is served");
    check_unserved(from, "tools", json::array(), "tools are not served");
    check_unserved(from, "tool_choice", "none", "tools are not served");
    check_unserved(from, "echo", false, "prompts are not echoed");
    check_unserved(from, "suffix", "", "texts are not filled in");
}

void check_fields(const json& body, bool chat) {
    if (chat) {
        return check_keys(body,
                          {"model",      "messages",   "max_tokens",  "max_completion_tokens", "temperature",
                           "top_p",      "top_k",      "min_p",       "presence_penalty",      "frequency_penalty",
                           "logit_bias", "n",          "seed",        "repetition_penalty",    "stop",
                           "stream",     "ignore_eos", "speculate",   "stream_options",        "user",
                           "logprobs",   "tools",      "tool_choice", "response_format",       "top_logprobs"});
    }
    check_keys(body, {"model",
                      "prompt",
                      "max_tokens",
                      "temperature",
                      "top_p",
                      "top_k",
                      "min_p",
                      "presence_penalty",
                      "frequency_penalty",
                      "repetition_penalty",
                      "logit_bias",
                      "n",
                      "seed",
                      "stop",
                      "stream",
                      "stream_options",
                      "ignore_eos",
                      "speculate",
                      "user",
                      "logprobs",
                      "echo",
                      "suffix",
                      "best_of"});
}

void read_streaming(const reader& from, completion_request& asked) {
    asked.stream = field<bool>(from, "stream").value_or(false);
    const auto options = about("stream_options", [&] { return from.object("stream_options"); });
    if (!options) return;
    if (!asked.stream) refuse("stream_options", "stream_options needs stream, which is false");
    check_keys(options->value(), {"include_usage"}, "stream_options.");
    asked.include_usage = field<bool>(*options, "include_usage").value_or(false);
}

std::uint64_t seed_of(const reader& from) {
    if (const auto given = field<std::uint64_t>(from, "seed")) return *given;
    std::random_device any;
    return any();
}

}  // namespace

json read_body(const std::string& text, std::size_t most_bytes) {
    return about("", [&] {
        const io::json_limits limits{.bytes = most_bytes, .depth = 16, .values = std::size_t{1} << 18};
        json body = io::parse_json<json>(text, of_request, limits);
        static_cast<void>(reader(body, of_request));
        return body;
    });
}

completion_request read_completion(const json& body, bool chat, const served_model& model) {
    const reader from(body, of_request);
    check_fields(body, chat);
    check_model(from, model);
    check_what_is_not_served(from, chat);
    completion_request asked;
    asked.chat = chat;
    read_streaming(from, asked);
    asked.n = field<std::size_t>(from, "n", {1, most_choices}).value_or(1);
    const auto best_of = field<std::size_t>(from, "best_of");
    if (best_of && *best_of != asked.n) {
        refuse("best_of", "best_of is " + std::to_string(*best_of) + " and n is " + std::to_string(asked.n) +
                              "; all texts are returned, so they must be equal");
    }
    static_cast<void>(field<std::string>(from, "user"));
    asked.seed = seed_of(from);
    asked.sampling = sampling_of(from, model);
    asked.stop = stop_conditions_of(from, asked, model);
    if (field<bool>(from, "speculate") == false) asked.most_drafted = 0;
    if (chat) {
        asked.prompts.push_back(conversation_of(from, model));
    } else {
        asked.prompts = read_prompts_of(from, model);
    }
    if (asked.choices() > most_choices) {
        refuse("n", std::to_string(asked.prompts.size()) + " prompts and n = " + std::to_string(asked.n) + " are " +
                        std::to_string(asked.choices()) + " texts; at most " + std::to_string(most_choices) +
                        " are served");
    }
    return asked;
}

json tokenized(const json& body, const served_model& model) {
    check_keys(body, {"content", "add_special", "parse_special"});
    const reader from(body, of_request);
    const io::tokenizer* const words = model.words->ours();
    if (words == nullptr) refuse("content", "augur has no tokenizer for this model", "unsupported_value");
    return about("content", [&]() -> json {
        const auto text = from.required<std::string>("content");
        io::check_utf8(text, "content");
        const io::encode_options as_asked{.add_special = from.value_or("add_special", false),
                                          .parse_special = from.value_or("parse_special", true)};
        return {{"tokens", words->encode(text, as_asked)}};
    });
}

json detokenized(const json& body, const served_model& model) {
    check_keys(body, {"tokens"});
    const reader from(body, of_request);
    const io::tokenizer* const words = model.words->ours();
    if (words == nullptr) refuse("tokens", "augur has no tokenizer for this model", "unsupported_value");
    return about("tokens", [&]() -> json {
        const auto most = static_cast<token>(words->vocabulary_size() - 1);
        const auto ids = from.required<std::vector<token>>("tokens", {0, most});
        return {{"content", words->decode(ids, {.show_control = true})}};
    });
}

}  // namespace augur::program
