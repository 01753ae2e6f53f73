#pragma once
// Renders a conversation with the chat template (Jinja) of a model. See docs/io/tokenizer.md.

#include <algorithm>
#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_execute.hpp>
#include <augur/io/text/jinja_json.hpp>
#include <augur/io/text/jinja_machine.hpp>
#include <augur/io/text/jinja_meter.hpp>
#include <augur/io/text/jinja_statements.hpp>
#include <augur/io/text/utf8.hpp>
#include <augur/io/text/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

struct chat_message {
    std::string role;  ///< "system", "user", "assistant", or what else the template knows
    std::string content;
    /// Further members of the message, as an object: tool_calls, name, reasoning_content, ...; `content` there takes
    /// the place of the text above (null, or a list of typed parts).
    nlohmann::ordered_json more = nullptr;
};

/// The local time.
inline std::tm local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm out{};
    if (!localtime_r(&now, &out)) augur::detail::fail("the local time is not known");
    return out;
}

/// What a rendering is given beside the messages, as apply_chat_template of transformers has it.
struct render_options {
    bool add_generation_prompt = true;            ///< up to where the assistant begins to speak
    nlohmann::ordered_json tools = nullptr;       ///< a list of functions as JSON schemas; null: none
    nlohmann::ordered_json documents = nullptr;   ///< null: none
    nlohmann::ordered_json variables = nullptr;   ///< further ones by name, such as enable_thinking: an object
    std::function<std::tm()> clock = local_time;  ///< of strftime_now
    template_limits limits{};
};

namespace detail {

inline nlohmann::ordered_json as_json(const chat_message& message) {
    nlohmann::ordered_json out = {{"role", message.role}, {"content", message.content}};
    if (message.more.is_null()) return out;
    if (!message.more.is_object())
        augur::detail::fail("chat_message::more is a JSON ", message.more.type_name(), ", not an object");
    for (const auto& [key, item] : message.more.items()) out[key] = item;
    return out;
}

}  // namespace detail

/// Renders conversations. Contents are copied as the template does it: control tokens written in them are parsed like
/// those of the template, so clean what you do not trust. Immutable; copies share the program, and threads may share
/// one.
class chat_template {
 public:
    /// Reads a template: Jinja2 as transformers sets it up (trim_blocks, lstrip_blocks, loop controls, the immutable
    /// sandbox). `bos` and `eos` are the texts of those tokens; one that is not there is undefined in the template.
    /// Errors, with the line: syntax; a tag, filter or test that is not known (one in a branch: when it is reached);
    /// more than 1 MiB; text that is not UTF-8. Cost: linear in the source.
    explicit chat_template(std::string_view source, std::optional<std::string> bos = "<s>",
                           std::optional<std::string> eos = "</s>")
        : bos_(std::move(bos)), eos_(std::move(eos)), plain_(parse(source)), names_bos_(writes_bos(source)) {}

    /// The template of a model, and that for conversations with tools where the model has one of its own.
    explicit chat_template(const vocabulary& words)
        : chat_template(words.chat_template, text_of(words, words.bos), text_of(words, words.eos)) {
        unknown_ = text_of(words, words.unknown);
        if (words.tool_template.empty()) return;
        with_tools_ = parse(words.tool_template);
        names_bos_ = names_bos_ || writes_bos(words.tool_template);
    }

    /// Whether the source names bos_token, or spells that token: then bos is part of the text where it belongs.
    bool names_bos() const { return names_bos_; }

    /// The conversation as text. Errors: no messages; what the template refuses (raise_exception), with its words; what
    /// it does that Jinja2 refuses, too, or that is not supported, with its line; the limits. Cost: bounded by them.
    std::string render(std::span<const chat_message> messages, const render_options& options = {}) const {
        if (messages.empty()) augur::detail::fail("a conversation of 0 messages cannot be rendered");
        auto all = nlohmann::ordered_json::array();
        for (const auto& message : messages) all.push_back(detail::as_json(message));
        return render_json(all, options);
    }
    std::string render(std::span<const chat_message> messages, bool add_generation_prompt) const {
        return render(messages, {.add_generation_prompt = add_generation_prompt});
    }

    /// The same of messages as they come in JSON: a list of objects.
    std::string render_json(const nlohmann::ordered_json& messages, const render_options& options = {}) const {
        const auto& run = with_tools_ && !options.tools.is_null() ? *with_tools_ : *plain_;
        jinja::machine machine(run, options.limits, options.clock);
        const auto set = [&](const std::string& name, const nlohmann::ordered_json& of) {
            machine.assign_named(name, jinja::from_json(machine, of));
        };
        if (bos_) set("bos_token", *bos_);
        if (eos_) set("eos_token", *eos_);
        if (unknown_) set("unk_token", *unknown_);
        set("messages", messages);
        set("tools", options.tools);
        set("documents", options.documents);
        set("add_generation_prompt", options.add_generation_prompt);
        if (!options.variables.is_null() && !options.variables.is_object()) {
            augur::detail::fail("render_options::variables is a JSON ", options.variables.type_name(),
                                ", not an object");
        }
        for (const auto& [name, item] : options.variables.items()) set(name, item);
        jinja::execute(machine, run.body);
        return std::move(machine.text);
    }

 private:
    using program_ptr = std::shared_ptr<const jinja::program>;

    static program_ptr parse(std::string_view source) {
        if (source.empty()) augur::detail::fail("the model has no chat template");
        if (source.size() > longest_chat_template) {
            augur::detail::fail("the chat template has ", source.size(), " bytes, more than the ",
                                longest_chat_template, " that are read");
        }
        check_utf8(source, "the chat template");
        return std::make_shared<const jinja::program>(jinja::template_parser(source).run());
    }

    bool writes_bos(std::string_view source) const {
        return source.find("bos_token") != source.npos || (bos_ && !bos_->empty() && source.find(*bos_) != source.npos);
    }

    static std::optional<std::string> text_of(const vocabulary& words, token id) {
        if (id == no_token) return std::nullopt;
        if (id < 0 || static_cast<std::size_t>(id) >= words.texts.size()) {
            augur::detail::fail("token ", id, " is outside the vocabulary of ", words.texts.size());
        }
        return words.texts[static_cast<std::size_t>(id)];
    }

    std::optional<std::string> bos_, eos_, unknown_;
    program_ptr plain_, with_tools_;
    bool names_bos_ = false;
};

}  // namespace augur::io
