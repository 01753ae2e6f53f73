#pragma once
// A conversation as the text that a chat model was trained on. See docs/io/tokenizer.md.

#include <algorithm>
#include <array>
#include <augur/io/quote.hpp>
#include <augur/io/vocabulary.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace augur::io {

struct chat_message {
    std::string role;  ///< "system", "user" or "assistant"
    std::string content;
};

/// The layouts that are known. Models carry theirs as a Jinja program; it is not run, but recognised by its marks.
enum class chat_format {
    chatml,  ///< <|im_start|>role\ncontent<|im_end|>\n
    llama2,  ///< [INST] <<SYS>>\nsystem\n<</SYS>>\n\nuser [/INST] assistant </s>
    llama3,  ///< <|start_header_id|>role<|end_header_id|>\n\ncontent<|eot_id|>
    zephyr   ///< <|role|>\ncontent</s>\n
};

constexpr std::string_view name_of(chat_format format) {
    constexpr std::array<std::string_view, 4> names = {"chatml", "llama2", "llama3", "zephyr"};
    return names[static_cast<std::size_t>(format)];
}

namespace detail {

inline bool holds(std::string_view text, std::string_view mark) {
    return text.find(mark) != std::string_view::npos;
}

/// The user's turn of a Zephyr template ends with the eos token; templates that look alike end it otherwise.
inline bool looks_like_zephyr(std::string_view source) {
    if (!holds(source, "<|user|>") || holds(source, "<|end|>")) return false;
    return holds(source, "<|user|>\\n' + message['content'] + eos_token") ||
           holds(source, "<|user|>\n' + message['content'] + eos_token") || holds(source, "<|endoftext|>");
}

inline chat_format detect_chat_format(std::string_view source) {
    const bool is_chatml = holds(source, "<|im_start|>") && !holds(source, "<|im_sep|>");
    if (is_chatml && !holds(source, "<end_of_utterance>")) return chat_format::chatml;
    if (holds(source, "[INST]") && holds(source, "<<SYS>>")) return chat_format::llama2;
    if (holds(source, "<|start_header_id|>") && holds(source, "<|end_header_id|>")) return chat_format::llama3;
    if (looks_like_zephyr(source)) return chat_format::zephyr;
    if (source.empty()) augur::detail::fail("the model has no chat template");
    augur::detail::fail("the chat template that starts with ", quote(source),
                        " is not known; supported are chatml, llama2, llama3, zephyr");
}

/// What a Jinja string literal means.
inline std::string unescape(std::string_view literal) {
    std::string out;
    for (std::size_t i = 0; i < literal.size(); ++i) {
        if (literal[i] != '\\' || i + 1 == literal.size()) {
            out += literal[i];
        } else {
            const char kind = literal[++i];
            out += kind == 'n' ? '\n' : kind == 't' ? '\t' : kind;
        }
    }
    return out;
}

/// Whether the text goes on outside the string literal that it begins in.
inline bool leaves_literal(std::string_view text) {
    constexpr std::array<std::string_view, 6> ways = {"' +", "\" +", "' ~", "\" ~", "}}", "{%"};
    return std::any_of(ways.begin(), ways.end(), [&](std::string_view way) { return holds(text, way); });
}

/// The system message that a ChatML template spells out for conversations that bring none; empty if it has none. Cost:
/// linear, for a message ends where the next turn begins.
inline std::string find_default_system(std::string_view source) {
    constexpr std::string_view open = "<|im_start|>";
    for (auto at = source.find(open); at != std::string_view::npos; at = source.find(open)) {
        source.remove_prefix(at + open.size());
        auto turn = source.substr(0, source.find(open));
        if (!turn.starts_with("system\n") && !turn.starts_with("system\\n")) continue;
        turn.remove_prefix(turn[6] == '\n' ? 7 : 8);
        const auto end = turn.find("<|im_end|>");
        if (end == std::string_view::npos) continue;
        const auto literal = turn.substr(0, end);
        if (!literal.empty() && !leaves_literal(literal)) return unescape(literal);
    }
    return {};
}

inline std::string_view trim(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n\v\f";
    const auto begin = text.find_first_not_of(blank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

}  // namespace detail

/// Renders conversations. Encode the result with parse_special and add_special: a bos token in front is the tokenizer's
/// business and not part of the text. Contents are copied as they are: control tokens written in them are parsed like
/// those of the template, so clean what you do not trust.
class chat_template {
 public:
    /// Recognises the layout in the Jinja source; the error for an unknown one quotes how it starts. `bos` and `eos`
    /// are the texts of those tokens, which some layouts repeat between turns. Errors: an unknown layout; more than 1
    /// MiB.
    explicit chat_template(std::string_view source, std::string_view bos = "<s>", std::string_view eos = "</s>")
        : format_(detail::detect_chat_format(checked(source))), bos_(bos), eos_(eos) {
        if (format_ == chat_format::chatml) default_system_ = detail::find_default_system(source);
        if (format_ == chat_format::llama3 && detail::holds(source, "Cutting Knowledge Date: December 2023")) {
            dates_ = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
        }
        if (format_ == chat_format::zephyr && detail::holds(source, "<|endoftext|>")) eos_ = "<|endoftext|>";
    }

    /// The template of a model.
    explicit chat_template(const vocabulary& words)
        : chat_template(words.chat_template, text_of(words, words.bos), text_of(words, words.eos)) {}

    chat_format format() const { return format_; }

    /// The system message in front of conversations that bring none; empty if the template has none.
    const std::string& default_system() const { return default_system_; }

    /// The conversation as text, up to where the assistant begins to speak unless `add_generation_prompt` is false.
    /// Throws for no messages and for unknown roles; in the llama2 layout, where a system message can only come first,
    /// also unless user and assistant alternate.
    std::string render(std::span<const chat_message> messages, bool add_generation_prompt = true) const {
        check_roles(messages);
        if (format_ == chat_format::llama2) return render_llama2(messages);
        std::string out;
        const bool brings_system = messages.front().role == "system";
        if (!dates_.empty()) {
            const auto system = brings_system ? detail::trim(messages.front().content) : "";
            out.append(opening("system")).append(dates_).append(system).append("<|eot_id|>");
            messages = messages.subspan(brings_system ? 1 : 0);
        } else if (!default_system_.empty() && !brings_system) {
            out += turn("system", default_system_);
        }
        for (const auto& message : messages) out += turn(message.role, message.content);
        if (add_generation_prompt) out += opening("assistant");
        return out;
    }

 private:
    static std::string_view checked(std::string_view source) {
        if (source.size() > longest_chat_template) {
            augur::detail::fail("the chat template has ", source.size(), " bytes, more than the ",
                                longest_chat_template, " that are read");
        }
        return source;
    }

    static std::string text_of(const vocabulary& words, token id) {
        if (id == no_token) return {};
        if (id < 0 || static_cast<std::size_t>(id) >= words.texts.size()) {
            augur::detail::fail("token ", id, " is outside the vocabulary of ", words.texts.size());
        }
        return words.texts[static_cast<std::size_t>(id)];
    }

    void check_roles(std::span<const chat_message> messages) const {
        if (messages.empty()) augur::detail::fail("a conversation of 0 messages cannot be rendered");
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const auto& role = messages[i].role;
            if (role != "system" && role != "user" && role != "assistant") {
                augur::detail::fail("message ", i, " has the role ", quote(role),
                                    "; known are 'system', 'user' and 'assistant'");
            }
        }
    }

    static void check_alternation(std::span<const chat_message> messages) {
        const std::size_t turns_begin = messages.front().role == "system" ? 1 : 0;
        if (turns_begin == messages.size()) {
            augur::detail::fail("a llama2 conversation needs a user message after the system message");
        }
        for (std::size_t i = turns_begin; i < messages.size(); ++i) {
            const std::string_view expected = (i - turns_begin) % 2 == 0 ? "user" : "assistant";
            if (messages[i].role != expected) {
                augur::detail::fail("message ", i, " of a llama2 conversation has the role ", quote(messages[i].role),
                                    ", not ", quote(expected));
            }
        }
    }

    /// What stands in front of a message's content.
    std::string opening(std::string_view role) const {
        const std::string name(role);
        if (format_ == chat_format::chatml) return "<|im_start|>" + name + "\n";
        if (format_ == chat_format::llama3) return "<|start_header_id|>" + name + "<|end_header_id|>\n\n";
        return "<|" + name + "|>\n";
    }

    std::string turn(std::string_view role, std::string_view content) const {
        auto out = opening(role);
        if (format_ == chat_format::chatml) return out.append(content).append("<|im_end|>\n");
        if (format_ == chat_format::llama3) return out.append(detail::trim(content)).append("<|eot_id|>");
        return out.append(content).append(eos_).append("\n");
    }

    /// The first user message carries the system message, and ends where the assistant begins.
    std::string render_llama2(std::span<const chat_message> messages) const {
        check_alternation(messages);
        std::string system;
        if (messages.front().role == "system") {
            system = "<<SYS>>\n" + messages.front().content + "\n<</SYS>>\n\n";
            messages = messages.subspan(1);
        }
        std::string out;
        for (const auto& message : messages) {
            if (message.role == "assistant") {
                out.append(" ").append(detail::trim(message.content)).append(" ").append(eos_);
                continue;
            }
            if (!out.empty()) out += bos_;
            out.append("[INST] ").append(detail::trim(system + message.content)).append(" [/INST]");
            system.clear();
        }
        return out;
    }

    chat_format format_;
    std::string bos_;
    std::string eos_;
    std::string default_system_;
    std::string dates_;  // what Llama 3.1 and later put before every system message; the day is their own fallback
};

}  // namespace augur::io
