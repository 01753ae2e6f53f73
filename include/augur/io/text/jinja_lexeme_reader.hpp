#pragma once
// The parser's token stream: lexemes in order, names as numbers, nodes of bounded height.

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_lexer.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace augur::io::jinja {

/// Of brackets and blocks in one another in the source, and of operators in a row.
inline constexpr std::size_t deepest_source = 100, longest_chain = 400;

class lexeme_reader {
 public:
    explicit lexeme_reader(std::vector<lexeme> lexemes) : lexemes_(std::move(lexemes)) {}

 protected:
    const lexeme& now() const { return lexemes_[at_]; }
    bool is_sign(std::string_view text) const { return now().kind == lexeme_kind::sign && now().text == text; }
    bool is_name(std::string_view text) const { return now().kind == lexeme_kind::name && now().text == text; }
    bool skip_sign(std::string_view text) { return is_sign(text) && (++at_, true); }
    bool skip_name(std::string_view text) { return is_name(text) && (++at_, true); }

    [[noreturn]] void fail(const std::string& what) const { fail_at(now().line, what); }

    [[noreturn]] void fail_unexpected(std::string_view wanted) const {
        constexpr std::array<std::string_view, 5> tags = {"text", "'{%'", "'%}'", "'{{'", "'}}'"};
        const auto kind = static_cast<std::size_t>(now().kind);
        const auto found = kind < tags.size()               ? std::string(tags[kind])
                           : now().kind == lexeme_kind::end ? std::string("the end")
                                                            : quote(now().text, 40);
        fail(std::string(wanted) + " expected, not " + found);
    }

    void expect(std::string_view sign) {
        if (!skip_sign(sign)) fail_unexpected(quote(sign));
    }
    void expect(lexeme_kind kind, std::string_view name) {
        if (now().kind != kind) fail_unexpected(name);
        ++at_;
    }
    std::string take_name() {
        if (now().kind != lexeme_kind::name) fail_unexpected("a name");
        return lexemes_[at_++].text;
    }

    std::size_t symbol_of(const std::string& name) {
        seen_.push_back(name);
        const auto [found, is_new] = symbols_.emplace(name, names_.size());
        if (is_new) names_.push_back(name);
        return found->second;
    }

    /// One level deeper in the source, as long as this lives.
    struct nesting {
        explicit nesting(lexeme_reader& parser) : of(parser) {
            if (++of.depth_ > deepest_source)
                of.fail("nested more than " + std::to_string(deepest_source) + " levels deep");
        }
        ~nesting() { --of.depth_; }
        nesting(const nesting&) = delete;
        nesting& operator=(const nesting&) = delete;
        lexeme_reader& of;
    };

    template <class... Parts>
    expression_ptr make(expression_kind kind, std::size_t line, Parts... parts) {
        auto node = std::make_unique<expression>(expression{kind, line});
        (add(*node, std::move(parts)), ...);
        return node;
    }

    void add(expression& to, expression_ptr part) {
        if (part) to.height = std::max(to.height, part->height + 1);
        if (to.height > longest_chain) fail("more than " + std::to_string(longest_chain) + " nested operations");
        to.parts.push_back(std::move(part));
    }

    std::vector<lexeme> lexemes_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    std::size_t soft_ = 0;            // branches around
    std::vector<std::string> names_;  // by symbol
    std::vector<std::string> seen_;   // all that were named so far
    std::unordered_map<std::string, std::size_t> symbols_;
};

}  // namespace augur::io::jinja
