#include "conversation.hpp"

#include <algorithm>
#include <augur/io/files/gguf.hpp>
#include <augur/io/files/safetensors.hpp>
#include <augur/io/text/chat_tokens.hpp>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

namespace augur::program {

conversation::conversation(const known_words& words, std::optional<std::string> system)
    : all_(&words), words_(words.ours()) {
    words.require("'augur chat'");
    if (words_ != nullptr) {
        layout_.emplace(words_->words());
    } else if (!words.theirs()->has_chat_template()) {
        detail::fail("the model has no chat template");
    }
    if (system) begun_.messages.push_back({"system", std::move(*system)});
    now_ = before_ = begun_;
}

conversation::turn conversation::say(const std::string& text, std::span<const token> answer, bool stopped) {
    before_ = now_;
    try {
        const auto said = stopped ? answer.first(answer.size() - 1) : answer;
        const bool is_first = now_.rendered.empty() && now_.tokens.empty();
        if (!is_first) now_.messages.push_back({"assistant", text_of(said)});
        now_.messages.push_back({"user", text});
        if (words_ == nullptr) return turn_by_llama_cpp(answer);
        const std::string earlier = std::exchange(now_.rendered, layout_->render(now_.messages));
        turn answered = tokens_of(earlier, answer, stopped);
        if (!answered.tokens.empty()) now_.last = answered.tokens.back();
        return answered;
    } catch (...) {
        take_back();
        throw;
    }
}

/// Encoded as a whole: where that begins with what is there, the rest follows.
conversation::turn conversation::turn_by_llama_cpp(std::span<const token> answer) {
    std::vector<token> there = std::exchange(now_.tokens, all_->theirs()->encode_chat(now_.messages));
    const bool is_first = there.empty();
    there.insert(there.end(), answer.begin(), answer.end());
    const std::vector<token>& all = now_.tokens;
    const bool follows = !is_first && there.size() < all.size() && std::equal(there.begin(), there.end(), all.begin());
    if (!follows) return {all, true};
    return {{all.begin() + static_cast<std::ptrdiff_t>(there.size()), all.end()}, false};
}

std::string conversation::text_of(std::span<const token> answer) const {
    if (words_ == nullptr) {
        std::string text;
        for (const token id : answer) text += all_->bytes_of(id, true);
        return text;
    }
    const bool is_start = now_.last != no_token && words_->begins_after(now_.last);
    return words_->decode(answer, {.show_control = true, .continues = !is_start});
}

conversation::turn conversation::tokens_of(const std::string& earlier, std::span<const token> answer,
                                           bool stopped) const {
    const token end = stopped ? answer.back() : no_token;
    std::string there = earlier;
    if (!earlier.empty()) there += now_.messages[now_.messages.size() - 2].content;
    if (stopped) there += words_->bytes_of(end, true);
    if (earlier.empty() || !now_.rendered.starts_with(there)) {
        return {io::encode_chat(*words_, *layout_, now_.rendered), true};
    }
    const io::encode_options as_continuation{
        .add_special = false, .parse_special = true, .continues = !stopped || !words_->parts_texts(end)};
    return {words_->encode(std::string_view(now_.rendered).substr(there.size()), as_continuation), false};
}

conversation::turn conversation::whole() {
    if (words_ == nullptr) {
        now_.tokens = all_->theirs()->encode_chat(now_.messages);
        return {now_.tokens, true};
    }
    now_.rendered = layout_->render(now_.messages);
    turn all{io::encode_chat(*words_, *layout_, now_.rendered), true};
    now_.last = all.tokens.empty() ? no_token : all.tokens.back();
    return all;
}

std::optional<conversation::turn> conversation::without_oldest() {
    const auto is_users = [](const io::chat_message& each) { return each.role == "user"; };
    auto& all = now_.messages;
    const auto first = std::find_if(all.begin(), all.end(), is_users);
    const auto next = first == all.end() ? first : std::find_if(first + 1, all.end(), is_users);
    if (next == all.end()) return std::nullopt;
    try {
        all.erase(first, next);
        return whole();
    } catch (...) {
        take_back();
        throw;
    }
}

std::vector<io::chat_message> conversation::messages(std::span<const token> answer, bool stopped) const {
    auto all = now_.messages;
    if (is_open()) all.push_back({"assistant", text_of(stopped ? answer.first(answer.size() - 1) : answer)});
    return all;
}

std::optional<std::string> conversation::take_out_last() {
    auto& all = now_.messages;
    if (all.empty() || all.back().role != "assistant") return std::nullopt;
    all.pop_back();
    std::string said = std::move(all.back().content);
    all.pop_back();
    return said;
}

void conversation::set_messages(std::vector<io::chat_message> messages) {
    now_ = before_ = {std::move(messages), "", no_token};
}

void conversation::set_system(const std::string& text) {
    for (state* const each : {&begun_, &now_}) {
        auto& all = each->messages;
        if (!all.empty() && all.front().role == "system") all.erase(all.begin());
        if (!text.empty()) all.insert(all.begin(), {"system", text});
    }
    before_ = now_;
}

bool is_named_for_chat(const std::string& model_path) {
    namespace fs = std::filesystem;
    std::string name = fs::path(model_path).lexically_normal().filename().string();
    if (!io::holds_safetensors(model_path))
        name += " " + io::gguf_file(model_path).get_or<std::string>("general.name", "");
    std::string part;
    for (const char letter : name + " ") {
        if (std::isalpha(static_cast<unsigned char>(letter))) {
            part += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
            continue;
        }
        if (part == "instruct" || part == "chat" || part == "it") return true;
        part.clear();
    }
    return false;
}

}  // namespace augur::program
