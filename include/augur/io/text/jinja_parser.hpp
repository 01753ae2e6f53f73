#pragma once
// Parses the expressions of a template (Jinja2's grammar).

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_lexeme_reader.hpp>
#include <augur/io/text/jinja_lexer.hpp>
#include <augur/io/text/jinja_names.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

class expression_parser : protected lexeme_reader {
 public:
    using lexeme_reader::lexeme_reader;

 protected:
    expression_ptr parse_expression() {
        const nesting deeper(*this);
        auto node = parse_or();
        while (is_name("if")) {
            const auto line = lexemes_[at_++].line;
            ++soft_;
            auto condition = parse_or();
            auto otherwise = skip_name("else") ? parse_expression() : nullptr;
            --soft_;
            node =
                make(expression_kind::conditional, line, std::move(node), std::move(condition), std::move(otherwise));
        }
        return node;
    }

    expression_ptr parse_or() {
        auto left = parse_and();
        while (is_name("or")) {
            const auto line = lexemes_[at_++].line;
            left = make(expression_kind::either, line, std::move(left), parse_and());
        }
        return left;
    }

    expression_ptr parse_and() {
        auto left = parse_not();
        while (is_name("and")) {
            const auto line = lexemes_[at_++].line;
            left = make(expression_kind::both, line, std::move(left), parse_not());
        }
        return left;
    }

    expression_ptr parse_not() {
        if (!is_name("not")) return parse_comparison();
        const nesting deeper(*this);
        const auto line = lexemes_[at_++].line;
        return make(expression_kind::opposite, line, parse_not());
    }

    std::string comparison_sign() {
        for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
            if (skip_sign(sign)) return sign;
        }
        if (skip_name("in")) return "in";
        const bool is_not_in =
            is_name("not") && lexemes_[at_ + 1].kind == lexeme_kind::name && lexemes_[at_ + 1].text == "in";
        if (!is_not_in) return {};
        at_ += 2;
        return "not in";
    }

    expression_ptr parse_comparison() {
        const auto line = now().line;
        auto left = parse_sum();
        auto sign = comparison_sign();
        if (sign.empty()) return left;
        auto node = make(expression_kind::comparison, line, std::move(left));
        for (; !sign.empty(); sign = comparison_sign()) {
            node->signs.push_back(sign);
            add(*node, parse_sum());
        }
        return node;
    }

    /// Left to right: `next` between the signs.
    expression_ptr parse_chain(std::initializer_list<std::pair<std::string_view, char>> signs,
                               expression_ptr (expression_parser::*next)()) {
        auto left = (this->*next)();
        while (true) {
            const auto* found =
                std::find_if(signs.begin(), signs.end(), [&](const auto& sign) { return is_sign(sign.first); });
            if (found == signs.end()) return left;
            const auto line = lexemes_[at_++].line;
            left = make(expression_kind::arithmetic, line, std::move(left), (this->*next)());
            left->sign = found->second;
        }
    }

    expression_ptr parse_sum() { return parse_chain({{"+", '+'}, {"-", '-'}}, &expression_parser::parse_together); }

    expression_ptr parse_together() {
        const auto line = now().line;
        auto first = parse_product();
        if (!is_sign("~")) return first;
        auto node = make(expression_kind::together, line, std::move(first));
        while (skip_sign("~")) add(*node, parse_product());
        return node;
    }

    expression_ptr parse_product() {
        return parse_chain({{"*", '*'}, {"/", '/'}, {"//", 'd'}, {"%", '%'}}, &expression_parser::parse_power);
    }
    expression_ptr parse_power() { return parse_chain({{"**", 'p'}}, &expression_parser::parse_filtered); }
    expression_ptr parse_filtered() { return parse_unary(true); }

    expression_ptr parse_unary(bool with_filters) {
        const nesting deeper(*this);
        const auto line = now().line;
        expression_ptr node;
        if (skip_sign("-")) {
            node = make(expression_kind::negative, line, parse_unary(false));
        } else if (skip_sign("+")) {
            node = make(expression_kind::positive, line, parse_unary(false));
        } else {
            node = parse_primary();
        }
        node = parse_postfix(std::move(node));
        return with_filters ? parse_filters(std::move(node)) : std::move(node);
    }

    expression_ptr constant(value of) {
        auto node = make(expression_kind::constant, now().line);
        node->constant = std::move(of);
        return node;
    }

    expression_ptr variable(const std::string& name, std::size_t line) {
        auto node = make(expression_kind::name, line);
        node->name = name;
        node->symbol = symbol_of(name);
        return node;
    }

    expression_ptr parse_primary() {
        const auto& first = now();
        if (first.kind == lexeme_kind::name) return parse_name();
        if (first.kind == lexeme_kind::text) {
            std::string text;
            while (now().kind == lexeme_kind::text) text += lexemes_[at_++].text;
            return constant(value(std::move(text)));
        }
        if (first.kind == lexeme_kind::integer || first.kind == lexeme_kind::real) return parse_number();
        if (skip_sign("(")) {
            const nesting deeper(*this);
            auto node = parse_tuple(true, true);
            expect(")");
            return node;
        }
        if (is_sign("[")) return parse_list();
        if (is_sign("{")) return parse_dict();
        fail_unexpected("a value");
    }

    expression_ptr parse_name() {
        const auto line = now().line;
        const auto name = take_name();
        if (name == "true" || name == "True") return constant(value(true));
        if (name == "false" || name == "False") return constant(value(false));
        if (name == "none" || name == "None") return constant(none{});
        return variable(name, line);
    }

    expression_ptr parse_number() {
        const auto& written = lexemes_[at_].text;
        const auto *begin = written.data(), *end = begin + written.size();
        if (now().kind == lexeme_kind::real) {
            double number = 0;
            if (std::from_chars(begin, end, number).ec != std::errc{})
                fail("the number " + quote(written, 40) + " is out of range");
            ++at_;
            return constant(value(number));
        }
        std::int64_t number = 0;
        if (std::from_chars(begin, end, number).ec != std::errc{})
            fail("the integer " + quote(written, 40) + " is over 63 bits");
        ++at_;
        return constant(value(number));
    }

    expression_ptr parse_list() {
        auto node = make(expression_kind::list, now().line);
        expect("[");
        while (!is_sign("]")) {
            if (!node->parts.empty()) expect(",");
            if (is_sign("]")) break;
            add(*node, parse_expression());
        }
        expect("]");
        return node;
    }

    expression_ptr parse_dict() {
        auto node = make(expression_kind::dict, now().line);
        expect("{");
        while (!is_sign("}")) {
            if (!node->parts.empty()) expect(",");
            if (is_sign("}")) break;
            add(*node, parse_expression());
            expect(":");
            add(*node, parse_expression());
        }
        expect("}");
        return node;
    }

    bool ends_tuple() const {
        return now().kind == lexeme_kind::print_end || now().kind == lexeme_kind::block_end || is_sign(")");
    }

    /// One expression, or several with commas between; nothing only in parentheses.
    expression_ptr parse_tuple(bool with_conditional = true, bool may_be_empty = false) {
        const auto line = now().line;
        std::vector<expression_ptr> items;
        bool is_tuple = false;
        while (!ends_tuple() && !is_name("recursive")) {
            items.push_back(with_conditional ? parse_expression() : parse_or());
            if (!is_sign(",")) break;
            is_tuple = true;
            ++at_;
        }
        if (items.size() == 1 && !is_tuple) return std::move(items[0]);
        if (items.empty() && !may_be_empty) fail_unexpected("an expression");
        auto node = make(expression_kind::tuple, line);
        for (auto& item : items) add(*node, std::move(item));
        return node;
    }

    expression_ptr parse_postfix(expression_ptr node) {
        while (true) {
            const auto line = now().line;
            if (skip_sign(".")) {
                node = parse_attribute(std::move(node), line);
            } else if (skip_sign("[")) {
                node = parse_item(std::move(node), line);
                expect("]");
            } else if (is_sign("(")) {
                node = make(expression_kind::call, line, std::move(node));
                parse_arguments(*node);
            } else {
                return node;
            }
        }
    }

    expression_ptr parse_attribute(expression_ptr of, std::size_t line) {
        if (now().kind == lexeme_kind::integer) return make(expression_kind::item, line, std::move(of), parse_number());
        auto node = make(expression_kind::attribute, line, std::move(of));
        node->name = take_name();
        return node;
    }

    expression_ptr parse_item(expression_ptr of, std::size_t line) {
        expression_ptr start = is_sign(":") ? nullptr : parse_expression();
        if (is_sign(",")) fail("an index of several values is not supported");
        if (!skip_sign(":")) return make(expression_kind::item, line, std::move(of), std::move(start));
        auto stop = is_sign(":") || is_sign("]") ? nullptr : parse_expression();
        auto step = skip_sign(":") && !is_sign("]") ? parse_expression() : nullptr;
        return make(expression_kind::slice, line, std::move(of), std::move(start), std::move(stop), std::move(step));
    }

    /// (a, b, name=c)
    void parse_arguments(expression& of) {
        const nesting deeper(*this);
        expect("(");
        for (bool is_first = true; !is_sign(")"); is_first = false) {
            if (!is_first) expect(",");
            if (is_sign(")")) break;
            if (is_sign("*") || is_sign("**")) fail("arguments with " + quote(now().text) + " are not supported");
            const auto& next = lexemes_[at_ + 1];
            const bool is_named = now().kind == lexeme_kind::name && next.kind == lexeme_kind::sign && next.text == "=";
            if (!is_named) {
                if (!of.named.empty()) fail("a positional argument after keyword arguments");
                add(of, parse_expression());
                continue;
            }
            auto name = take_name();
            expect("=");
            auto given = parse_expression();
            of.height = std::max(of.height, given->height + 1);
            of.named.emplace_back(std::move(name), std::move(given));
        }
        expect(")");
    }

    expression_ptr parse_filters(expression_ptr node) {
        while (true) {
            const auto line = now().line;
            if (skip_sign("|")) {
                node = parse_filter(std::move(node));
            } else if (is_name("is")) {
                node = parse_test(std::move(node));
            } else if (is_sign("(")) {
                node = make(expression_kind::call, line, std::move(node));
                parse_arguments(*node);
            } else {
                return node;
            }
        }
    }

    expression_ptr parse_filter(expression_ptr of) {
        auto node = make(expression_kind::filter, now().line, std::move(of));
        node->name = take_name();
        while (skip_sign(".")) node->name += "." + take_name();
        // As in Jinja2, a filter in a branch may be unknown as long as it is not reached.
        if (soft_ == 0 && !is_one_of(node->name, filter_names))
            fail("the filter " + quote(node->name) + " is not supported");
        if (is_sign("(")) parse_arguments(*node);
        return node;
    }

    expression_ptr parse_test(expression_ptr of) {
        const auto line = lexemes_[at_++].line;
        const bool is_negated = skip_name("not");
        auto node = make(expression_kind::test, line, std::move(of));
        node->name = take_name();
        if (soft_ == 0 && !is_one_of(node->name, test_names))
            fail("the test " + quote(node->name) + " is not supported");
        const auto kind = now().kind;
        const bool has_value = kind == lexeme_kind::name || kind == lexeme_kind::text || kind == lexeme_kind::integer ||
                               kind == lexeme_kind::real || is_sign("[") || is_sign("{");
        if (is_sign("(")) {
            parse_arguments(*node);
        } else if (has_value && !is_name("else") && !is_name("or") && !is_name("and")) {
            if (is_name("is")) fail("chained tests are not supported");
            add(*node, parse_postfix(parse_primary()));
        }
        return is_negated ? make(expression_kind::opposite, line, std::move(node)) : std::move(node);
    }
};

}  // namespace augur::io::jinja
