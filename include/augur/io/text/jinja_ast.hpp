#pragma once
// The syntax tree of a template.

#include <augur/io/text/jinja_value.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace augur::io::jinja {

struct expression;
struct statement;
using expression_ptr = std::unique_ptr<expression>;
using block = std::vector<statement>;

enum class expression_kind {
    constant,
    name,         ///< `symbol`
    list,         ///< its parts
    tuple,        ///< its parts
    dict,         ///< its parts: key, item, key, ...
    attribute,    ///< parts[0].name
    item,         ///< parts[0][parts[1]]
    slice,        ///< parts[0][parts[1]:parts[2]:parts[3]], each of which may be missing
    call,         ///< parts[0](parts[1], ..., named)
    filter,       ///< parts[0]|name(parts[1], ..., named)
    test,         ///< parts[0] is name(parts[1], ...)
    negative,     ///< -parts[0]
    positive,     ///< +parts[0]
    opposite,     ///< not parts[0]
    arithmetic,   ///< parts[0] sign parts[1]
    both,         ///< parts[0] and parts[1]
    either,       ///< parts[0] or parts[1]
    comparison,   ///< parts[0] signs[0] parts[1] signs[1] ...
    together,     ///< parts[0] ~ parts[1] ~ ...
    conditional,  ///< parts[0] if parts[1] else parts[2], which may be missing
    block_text    ///< what {% filter %} and {% set %} blocks have written
};

struct expression {
    expression_kind kind;
    std::size_t line = 0;
    std::vector<expression_ptr> parts{};
    std::string name{};      ///< of attribute, filter, test or variable
    std::size_t symbol = 0;  ///< of a variable
    value constant{};
    char sign = '\0';                                             ///< as `operate` has it
    std::vector<std::string> signs{};                             ///< of a comparison
    std::vector<std::pair<std::string, expression_ptr>> named{};  ///< arguments by name
    std::size_t height = 1;
};

enum class statement_kind {
    data,
    print,
    branch,        ///< if conditions[i] then bodies[i]; one more body is the else
    loop,          ///< for targets[0] in values[0] if values[1]: bodies[0], else bodies[1]
    assign,        ///< targets[0] = values[0]
    assign_block,  ///< targets[0] = bodies[0], through values[0] where it is there
    macro,         ///< `callee`
    call,          ///< values[0] with `callee` as caller
    filter,        ///< bodies[0] through values[0]
    with,          ///< targets[i] = values[i] inside bodies[0]
    scope,         ///< bodies[0] with variables of its own
    leave,         ///< break
    skip           ///< continue
};

struct statement {
    statement_kind kind;
    std::size_t line = 0;
    std::string text{};
    std::vector<expression_ptr> values{};
    std::vector<expression_ptr> targets{};
    std::vector<block> bodies{};
    std::size_t symbol = 0;  ///< of a macro's name
    std::shared_ptr<const macro_node> callee{};
    bool is_recursive = false;
    bool names_loop = false;  ///< the body of a loop reads `loop`
};

/// Variables by number; names are in the program.
struct macro_node {
    std::string name;
    std::size_t line = 0;
    std::vector<std::size_t> parameters{};
    std::vector<expression_ptr> defaults{};  ///< of each parameter; may be missing
    block body{};
    bool takes_rest = false;   ///< its body names varargs
    bool takes_named = false;  ///< its body names kwargs
    bool takes_caller = false;
};

/// A parsed template. Immutable, so copies share one.
struct program {
    block body;
    std::vector<std::string> names;  ///< by symbol
};

}  // namespace augur::io::jinja
