#include "bridge.hpp"

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/stop_marks.hpp>
#include <augur/types/error.hpp>
#include <augur/types/prefix.hpp>
#include <optional>
#include <utility>

#include "models.hpp"

namespace augur::program {
namespace {

constexpr const char* by_text = "the models have different vocabularies, so that scheme 'ead' hands over text, but ";

bool share_tokens(const turn_model& one, const turn_model& other) {
    if (one.vocabulary != other.vocabulary) return false;
    return one.fingerprint.empty() || other.fingerprint.empty() || one.fingerprint == other.fingerprint;
}

const io::tokenizer& words_of_target(const turn_model& target, const known_words& words) {
    if (words.ours() != nullptr) return *words.ours();
    detail::fail(by_text, target.path,
                 words.theirs() != nullptr ? " has a tokenizer that llama.cpp alone reads" : " has no tokenizer");
}

/// A draft checkpoint without a tokenizer has its target's.
io::tokenizer words_of_draft(const turn_model& draft, const turn_model& target, const io::tokenizer& of_target) {
    std::optional<io::tokenizer> own;
    try {
        own = load_tokenizer(draft.path);
    } catch (const error& problem) {
        detail::fail(by_text, "the tokenizer of ", draft.path, " is not read: ", problem.what());
    }
    if (own) return std::move(*own);
    if (draft.fingerprint.empty() || !share_tokens(draft, target)) {
        detail::fail(by_text, draft.path, " has no tokenizer");
    }
    return of_target;
}

/// Ids of the target's as the text that every vocabulary has tokens for, without the tokens that are added in front.
prompt_options as_text(prompt_options asked, const io::tokenizer& words, std::span<const token> ids) {
    if (!asked.ids) return asked;
    const std::vector<token> added = words.encode("", {.add_special = true});
    const bool are_there = ids.size() > added.size() && std::equal(added.begin(), added.end(), ids.begin());
    const auto said = are_there ? ids.subspan(added.size()) : ids;
    for (const token id : said) {
        const bool is_known = id >= 0 && static_cast<std::size_t>(id) < words.vocabulary_size();
        if (is_known && !words.is_control(id)) continue;
        detail::fail("--prompt-ids holds ", id, is_known ? ", " + io::quote(words.bytes_of(id, true)) : "",
                     ", which is no text that a model of another vocabulary can read; give --prompt");
    }
    asked.text = words.decode_bytes(said);
    asked.text_source = "--prompt-ids";
    asked.ids.reset();
    return asked;
}

/// A stop string that is a control token has no text to be found in.
void check_stops(const io::tokenizer& words, const std::string& path, std::span<const std::string> strings) {
    const auto marks = of_option("--stop", [&] { return io::stop_marks_of(words, strings); });
    if (marks.empty()) return;
    detail::fail("--stop is ", io::quote(marks.front().name), ", which is token ", marks.front().id, " of ", path,
                 " and no text, but the models have different vocabularies and hand over text");
}

}  // namespace

bool vocabularies_differ(std::span<const turn_model> models) {
    for (std::size_t i = 0; i < models.size(); ++i) {
        for (std::size_t j = i + 1; j < models.size(); ++j) {
            if (!share_tokens(models[i], models[j])) return true;
        }
    }
    return false;
}

std::vector<bridged_side> bridge_of(std::span<const turn_model> models, const known_words& of_target,
                                    const bridged_request& asked) {
    const turn_model& target = models.back();
    const io::tokenizer& target_words = words_of_target(target, of_target);
    const prompt_options prompt = as_text(asked.prompt, target_words, asked.of_target);
    std::vector<bridged_side> sides;
    for (const turn_model& each : models) {
        const bool is_target = &each == &target;
        const std::optional<io::tokenizer> words =
            is_target ? target_words : words_of_draft(each, target, target_words);
        check_stops(*words, each.path, asked.stop_strings);
        std::vector<token> begins_with = of_option(each.path, [&] {
            const std::vector<token> ids = is_target ? std::vector(asked.of_target.begin(), asked.of_target.end())
                                                     : encode_prompt(prompt, words, each.path);
            const auto checked = checked_prompt(ids, each.vocabulary, each.context);
            return std::vector<token>(checked.begin(), checked.end());
        });
        std::vector<token> ends;
        if (!asked.ignores_ends) ends = end_tokens_of(words, each.vocabulary, each.path);
        sides.emplace_back(each, *words, std::move(begins_with), std::move(ends));
    }
    return sides;
}

}  // namespace augur::program
