#pragma once
// Parses the statements of a template, and so the whole program.

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/io/text/jinja_ast.hpp>
#include <augur/io/text/jinja_lexer.hpp>
#include <augur/io/text/jinja_parser.hpp>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

class template_parser : expression_parser {
 public:
    explicit template_parser(std::string_view source) : expression_parser(lexer(source).run()) {}

    program run() {
        auto body = parse_block({});
        return {std::move(body), std::move(names_)};
    }

 private:
    using enders = std::initializer_list<std::string_view>;

    /// Statements up to a tag of one of these names, which is not read; up to the end where there are none.
    block parse_block(enders ends) {
        const nesting deeper(*this);
        block out;
        while (true) {
            const auto line = now().line;
            if (now().kind == lexeme_kind::end) {
                if (ends.size() > 0) fail("the end, where " + quote(*(ends.end() - 1)) + " is expected");
                return out;
            }
            if (now().kind == lexeme_kind::data) {
                out.push_back({statement_kind::data, line, lexemes_[at_++].text});
            } else if (now().kind == lexeme_kind::print_begin) {
                ++at_;
                out.push_back({statement_kind::print, line});
                out.back().values.push_back(parse_tuple());
                expect(lexeme_kind::print_end, "'}}'");
            } else {
                expect(lexeme_kind::block_begin, "'{%'");
                if (std::any_of(ends.begin(), ends.end(), [&](auto name) { return is_name(name); })) return out;
                out.push_back(parse_statement());
            }
        }
    }

    void end_tag() { expect(lexeme_kind::block_end, "'%}'"); }

    statement parse_statement() {
        const auto line = now().line;
        const auto name = take_name();
        if (name == "if") return parse_branch(line);
        if (name == "for") return parse_loop(line);
        if (name == "set") return parse_assignment(line);
        if (name == "macro") return parse_macro(line);
        if (name == "call") return parse_call(line);
        if (name == "filter") return parse_filter_block(line);
        if (name == "with") return parse_with(line);
        if (name == "generation") {
            statement parsed{statement_kind::scope, line};
            add_body(parsed, {"endgeneration"});
            return parsed;
        }
        if (name == "break" || name == "continue") {
            if (loops_ == 0) fail_at(line, quote(name) + " outside a loop");
            end_tag();
            return {name == "break" ? statement_kind::leave : statement_kind::skip, line};
        }
        fail_at(line, "the tag " + quote(name, 40) + " is not supported");
    }

    /// Behind a tag's values: '%}', the body, and the tag that ends it.
    void add_body(statement& to, enders ends) {
        end_tag();
        to.bodies.push_back(parse_block(ends));
        ++at_;
        end_tag();
    }

    statement parse_branch(std::size_t line) {
        statement parsed{statement_kind::branch, line};
        ++soft_;
        parsed.values.push_back(parse_tuple(false));
        end_tag();
        while (true) {
            parsed.bodies.push_back(parse_block({"elif", "else", "endif"}));
            if (!skip_name("elif")) break;
            parsed.values.push_back(parse_tuple(false));
            end_tag();
        }
        if (skip_name("else")) {
            end_tag();
            parsed.bodies.push_back(parse_block({"endif"}));
        }
        --soft_;
        ++at_;
        end_tag();
        return parsed;
    }

    /// In a part with variables of its own Jinja2 wants to know each filter, even if a branch is around it.
    struct hard_part {
        explicit hard_part(template_parser& parser) : of(parser), soft(std::exchange(parser.soft_, 0)) {}
        ~hard_part() { of.soft_ = soft; }
        hard_part(const hard_part&) = delete;
        hard_part& operator=(const hard_part&) = delete;
        template_parser& of;
        std::size_t soft;
    };

    /// Variables to assign to: a name, several with commas between, or an attribute of a namespace.
    expression_ptr parse_target(bool may_be_attribute) {
        std::vector<expression_ptr> targets;
        const auto line = now().line;
        bool is_tuple = false;
        const bool is_bracketed = skip_sign("(");
        do {
            if (is_tuple && now().kind != lexeme_kind::name) break;
            targets.push_back(parse_one_target(may_be_attribute));
            is_tuple = is_tuple || is_sign(",");
        } while (skip_sign(","));
        if (is_bracketed) expect(")");
        if (!is_tuple) return std::move(targets[0]);
        auto node = make(expression_kind::tuple, line);
        for (auto& target : targets) add(*node, std::move(target));
        return node;
    }

    expression_ptr parse_one_target(bool may_be_attribute) {
        const auto line = now().line;
        if (is_sign("(")) return parse_target(false);
        auto target = parse_name();
        if (target->kind != expression_kind::name) fail_at(line, "a constant cannot be assigned to");
        if (!may_be_attribute || !skip_sign(".")) return target;
        return parse_attribute(std::move(target), line);
    }

    statement parse_loop(std::size_t line) {
        statement parsed{statement_kind::loop, line};
        parsed.targets.push_back(parse_target(false));
        if (!skip_name("in")) fail_unexpected("'in'");
        parsed.values.push_back(parse_tuple(false));
        const hard_part hard(*this);
        if (skip_name("if")) parsed.values.push_back(parse_expression());
        parsed.is_recursive = skip_name("recursive");
        end_tag();
        const auto seen = seen_.size();
        ++loops_;
        parsed.bodies.push_back(parse_block({"else", "endfor"}));
        --loops_;
        parsed.names_loop = was_named("loop", seen);
        if (skip_name("else")) {
            end_tag();
            parsed.bodies.push_back(parse_block({"endfor"}));
        }
        ++at_;
        end_tag();
        return parsed;
    }

    bool was_named(std::string_view name, std::size_t since) const {
        return std::find(seen_.begin() + static_cast<std::ptrdiff_t>(since), seen_.end(), name) != seen_.end();
    }

    statement parse_assignment(std::size_t line) {
        statement parsed{statement_kind::assign, line};
        parsed.targets.push_back(parse_target(true));
        if (skip_sign("=")) {
            parsed.values.push_back(parse_tuple());
            end_tag();
            return parsed;
        }
        parsed.kind = statement_kind::assign_block;
        const hard_part hard(*this);
        if (is_sign("|")) parsed.values.push_back(parse_filters(make(expression_kind::block_text, line)));
        add_body(parsed, {"endset"});
        return parsed;
    }

    statement parse_filter_block(std::size_t line) {
        statement parsed{statement_kind::filter, line};
        const hard_part hard(*this);
        parsed.values.push_back(parse_filters(parse_filter(make(expression_kind::block_text, line))));
        add_body(parsed, {"endfilter"});
        return parsed;
    }

    statement parse_with(std::size_t line) {
        statement parsed{statement_kind::with, line};
        while (now().kind != lexeme_kind::block_end) {
            if (!parsed.targets.empty()) expect(",");
            parsed.targets.push_back(parse_target(false));
            expect("=");
            parsed.values.push_back(parse_expression());
        }
        const hard_part hard(*this);
        add_body(parsed, {"endwith"});
        return parsed;
    }

    void parse_signature(macro_node& of) {
        expect("(");
        while (!is_sign(")")) {
            if (!of.parameters.empty()) expect(",");
            if (is_sign(")")) break;
            of.parameters.push_back(symbol_of(take_name()));
            of.defaults.push_back(skip_sign("=") ? parse_expression() : nullptr);
            if (!of.defaults.back() && of.defaults.size() > 1 && of.defaults[of.defaults.size() - 2]) {
                fail("a parameter without a default after one with a default");
            }
        }
        expect(")");
    }

    /// The body of a macro or of a call, up to its end tag.
    void parse_callee(macro_node& of, std::string_view end) {
        const hard_part hard(*this);
        const auto seen = seen_.size(), loops = std::exchange(loops_, 0);
        end_tag();
        of.body = parse_block({end});
        ++at_;
        end_tag();
        loops_ = loops;
        of.takes_rest = was_named("varargs", seen);
        of.takes_named = was_named("kwargs", seen);
        of.takes_caller = was_named("caller", seen);
    }

    statement parse_macro(std::size_t line) {
        statement parsed{statement_kind::macro, line};
        const auto name = take_name();
        parsed.symbol = symbol_of(name);
        const auto callee = std::make_shared<macro_node>(macro_node{name, line});
        parse_signature(*callee);
        parse_callee(*callee, "endmacro");
        parsed.callee = callee;
        return parsed;
    }

    statement parse_call(std::size_t line) {
        statement parsed{statement_kind::call, line};
        const auto callee = std::make_shared<macro_node>(macro_node{"caller", line});
        if (is_sign("(")) parse_signature(*callee);
        parsed.values.push_back(parse_expression());
        if (parsed.values[0]->kind != expression_kind::call) fail("'call' needs a call");
        parse_callee(*callee, "endcall");
        parsed.callee = callee;
        return parsed;
    }

    std::size_t loops_ = 0;
};

}  // namespace augur::io::jinja
