#include <augur/io/text/chat_template.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/files.hpp"
#include "io/vocabularies.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(io_chat_template)

using namespace augur::io;
using augur::testing::says;
using json = nlohmann::ordered_json;

namespace {

using chat = std::vector<chat_message>;

const std::string chatml =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const chat question = {{"user", "Hi"}};

/// What a template writes with the variables x (of JSON) and one message.
std::string written(const std::string& source, const json& x = nullptr) {
    render_options options{.variables = {{"x", x}}};
    if (augur::testing::sanitized) options.limits = {.steps = 100'000, .bytes = 4'000'000};  // as long as it takes
    return chat_template(source).render(question, options);
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_and_the_generation_prompt) {
    const chat_template layout(chatml);
    BOOST_TEST(layout.render(question) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    BOOST_TEST(layout.render(question, false) == "<|im_start|>user\nHi<|im_end|>\n");
    BOOST_CHECK_EXCEPTION(layout.render(chat{}), augur::error, says({"0 messages"}));
}

/// All expected texts of this suite are Jinja2's 3.1.6, asked in Python.
BOOST_AUTO_TEST_CASE(blanks_around_tags) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
        {"a \n {%- if true -%} \n b {{- 1 -}} \n c{% endif %}", "ab1c"},
        {"  {%+ if true +%}\nb{% endif %}", "  \nb"},
        {"a  {# x #}\n  {# y -#} \n b", "a  b"},
        {"{% raw %}{{ x }}{% endraw %}\n\n", "{{ x }}"},
        {"a\xE3\x80\x80\n{%- set y = 1 -%}\xC2\x85 b", "ab"},
        {"{{ '}}' }}{{ {'a': {'b': 1}}.a.b }}", "}}1"},
        {"a\r\nb\rc\r\n", "a\nb\nc"}};
    for (const auto& [source, expected] : cases) BOOST_TEST(written(source) == expected, source);
}

BOOST_AUTO_TEST_CASE(values_print_as_in_python) {
    const json x = {{"s", "a'b\n"}, {"n", nullptr}, {"t", true}, {"f", 1.0}, {"e", 1e22}, {"l", {1, 2.5, "\"'"}}};
    BOOST_TEST(written("{{ x }}", x) ==
               "{'s': \"a'b\\n\", 'n': None, 't': True, 'f': 1.0, 'e': 1e+22, 'l': [1, 2.5, '\"\\'']}");
    BOOST_TEST(written("{{ x|tojson }}", x) ==
               "{\"s\": \"a'b\\n\", \"n\": null, \"t\": true, \"f\": 1.0, \"e\": 1e+22, \"l\": [1, 2.5, \"\\\"'\"]}");
    BOOST_TEST(written("{{ x|tojson(indent=2) }}", json{{"b", {1}}, {"a", json::object()}}) ==
               "{\n  \"b\": [\n    1\n  ],\n  \"a\": {}\n}");
    BOOST_TEST(written("{{ (1,) }}{{ 7 // -2 }}{{ -7 % 3 }}{{ 7 / 2 }}{{ 2 ** 3 }}{{ 0.1 + 0.2 }}") ==
               "(1,)-423.580.30000000000000004");
    BOOST_TEST(written("{{ x|tojson(ensure_ascii=True) }}{{ x|tojson }}", "\xC3\xA9\xF0\x9F\x98\x80") ==
               "\"\\u00e9\\ud83d\\ude00\"\"\xC3\xA9\xF0\x9F\x98\x80\"");
}

BOOST_AUTO_TEST_CASE(blanks_are_unicodes) {
    const json x =
        " \xE3\x80\x80\xC2\xA0\xC2\x85\xE2\x80\x82\x1C"
        "a\xE2\x80\x8B \n";  // U+200B is none
    BOOST_TEST(written("[{{ x|trim }}][{{ x.strip() }}][{{ x.lstrip() }}]", x) ==
               "[a\xE2\x80\x8B][a\xE2\x80\x8B][a\xE2\x80\x8B \n]");
}

BOOST_AUTO_TEST_CASE(texts) {
    BOOST_TEST(written("{{ x[::-1] }}{{ x[1] }}{{ x[-2:] }}{{ x|length }}", "a\xC3\xA9z") ==
               "z\xC3\xA9"
               "a\xC3\xA9\xC3\xA9z3");
    BOOST_TEST(written("{{ 'a b  c'.split() }}{{ 'a,b,c'.rsplit(',', 1) }}{{ 'xxaxx'.strip('x') }}") ==
               "['a', 'b', 'c']['a,b', 'c']a");
    BOOST_TEST(written("{{ 'aXbX'.replace('X', '-', 1) }}{{ '{}-{a}'.format(1, a=2) }}{{ 'b' in 'abc' }}") ==
               "a-bX1-2True");
    BOOST_TEST(written("{{ 'it is'.title() }}{{ \"it's\"|title }}{{ 'aB'|capitalize }}") == "It IsIt'sAb");
    BOOST_TEST(written("{{ 'a\nb\n\nc'|indent(2) }}") == "a\n  b\n\n  c");
}

BOOST_AUTO_TEST_CASE(what_is_not_there) {
    BOOST_TEST(written("[{{ y }}{{ y|length }}{{ y|default('d') }}{{ x.z is defined }}{{ x.z or 'o' }}]",
                       json::object()) == "[0dFalseo]");
    BOOST_TEST(written("{{ none.a }}{% for i in y %}{{ i }}{% else %}e{% endfor %}") == "e");
    BOOST_CHECK_EXCEPTION(written("a\n{{ y.z }}"), augur::error, says({"line 2", "'y' is undefined"}));
    BOOST_CHECK_THROW(written("{{ y + 'a' }}"), augur::error);
    BOOST_CHECK_THROW(written("{{ x.z.w }}", json::object()), augur::error);
    BOOST_CHECK_THROW(written("{{ x|tojson }}{{ y|tojson }}"), augur::error);
}

BOOST_AUTO_TEST_CASE(a_method_hides_a_key_behind_a_dot) {
    const json x = {{"items", 1}, {"a", 2}};
    BOOST_TEST(
        written("{{ x['items'] }}{{ x.a }}{% for k, v in x.items() %}{{ k }}{{ v }}{% endfor %}{{ x.get('q', 3) }}",
                x) == "12items1a23");
    BOOST_CHECK_EXCEPTION(written("{{ x.items }}", x), augur::error, says({"function"}));
}

BOOST_AUTO_TEST_CASE(loops) {
    BOOST_TEST(written("{% for i in x %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ "
                       "loop.nextitem }};{% endfor %}",
                       {5, 6}) == "1TrueFalse6;2FalseTrue5;");
    BOOST_TEST(written("{% for i in range(9) if i % 2 %}{% if i == 5 %}{% break %}{% endif %}{% if i == 1 %}{% "
                       "continue %}{% endif %}{{ i }}{% endfor %}") == "3");
    BOOST_TEST(
        written(
            "{% for k in x recursive %}{{ k.n }}{% if k.c %}({{ loop(k.c) }}{{ loop.depth }}){% endif %}{% endfor %}",
            json::parse(R"([{"n":1,"c":[{"n":2}]},{"n":3}])")) == "1(21)3");
    // Jinja2 tests items ahead where the body reads `loop`, but does not say how far.
    const auto changing = [](std::string_view body) {
        return written("{% set n = namespace(a=1) %}{% for i in [1, 2, 3] if i > n.a %}{{ i }}" + std::string(body) +
                       "{% endfor %}");
    };
    BOOST_TEST(changing("{% set n.a = 2 %}") == "23");
    BOOST_TEST(changing("{% set n.a = 3 %}") == "2");
    BOOST_TEST(changing("{{ loop.index }}") == "2132");
    BOOST_CHECK_EXCEPTION(changing("{{ loop.index }}{% set n.a = 3 %}"), augur::error, says({"line 1", "changes"}));
    // A variable set in a loop is the turn's own; a namespace's attribute stays.
    BOOST_TEST(written("{% set n = namespace(a=0) %}{% set b = 0 %}{% for i in x %}{% set n.a = n.a + i %}{% set b = i "
                       "%}{% endfor %}{{ n.a }}{{ b }}",
                       {2, 3}) == "50");
}

BOOST_AUTO_TEST_CASE(macros_and_blocks) {
    BOOST_TEST(
        written(
            "{% macro m(a, b='B') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{% set c = 'C' %}{{ m(1) }}{{ m(b=2, a=3) }}") ==
        "1BC32C");
    BOOST_TEST(written("{% macro m() %}<{{ caller('y') }}>{% endmacro %}{% call(z) m() %}{{ z }}{% endcall %}") ==
               "<y>");
    BOOST_TEST(written("{% set a %} b {% endset %}[{{ a }}]{% filter upper %}c{{ 'd' }}{% endfilter %}") == "[ b ]CD");
    BOOST_TEST(written("{% with a = 1 %}{{ a }}{% endwith %}{{ a }}{% generation %}g{% endgeneration %}") == "1g");
    BOOST_CHECK_EXCEPTION(written("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}"), augur::error,
                          says({"takes 1", "not 2"}));
}

BOOST_AUTO_TEST_CASE(filters_of_lists) {
    const json x = json::parse(R"([{"n":"b","k":2},{"n":"A","k":1},{"n":"c"}])");
    BOOST_TEST(written("{{ x|map(attribute='n')|join('-') }}{{ x|sort(attribute='n')|map(attribute='n')|list }}", x) ==
               "b-A-c['A', 'b', 'c']");
    BOOST_TEST(written("{{ x|selectattr('k', 'defined')|list|length }}{{ x|rejectattr('k', 'equalto', "
                       "2)|map(attribute='n')|list }}",
                       x) == "2['A', 'c']");
    BOOST_TEST(written("{{ {'b': 1, 'A': 2}|dictsort }}{{ [3, 1]|min }}{{ [1, 1, 2]|unique|list }}{{ [1, 2]|sum }}") ==
               "[('A', 2), ('b', 1)]1[1, 2]3");
    // What map gives is read once.
    BOOST_TEST(written("{% set g = x|map(attribute='n') %}{{ g|list|length }}{{ g|list|length }}", x) == "30");
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_refused_by_name) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"{% include 'a' %}", "'include'"},         {"{{ x|shout }}", "'shout'"},
        {"{{ x is shouted }}", "'shouted'"},        {"{{ x.encode() }}", "'encode'"},
        {"{{ [].append(1) }}", "'append'"},         {"{{ cycler(1) }}", "'cycler'"},
        {"{% block a %}{% endblock %}", "'block'"}, {"{{ x.__class__ }}", "'__class__'"}};
    for (const auto& [source, name] : cases) {
        BOOST_CHECK_EXCEPTION(written(source, "a"), augur::error, says({"line 1", name}));
    }
    // As in Jinja2, a filter in a branch is asked for when it is reached.
    BOOST_TEST(written("{% if false %}{{ x|shout }}{% endif %}a") == "a");
    BOOST_CHECK_THROW(chat_template("{{ x|shout }}"), augur::error);
}

BOOST_AUTO_TEST_CASE(a_template_refuses_in_its_own_words) {
    BOOST_CHECK_EXCEPTION(written("a\n{{ raise_exception('No ' + messages[0].role) }}"), augur::error,
                          says({"refuses", "line 2", "'No user'"}));
}

BOOST_AUTO_TEST_CASE(syntax_errors_name_the_line) {
    for (const auto* source : {"\n{{ a", "\n{% if a %}", "\n{{ 'a }}", "\n{# a", "\n{{ a b }}", "\n{% endif %}",
                               "\n{% raw %}", "\n{{ (1] }}", "\n{% break %}"}) {
        BOOST_CHECK_EXCEPTION(chat_template{source}, augur::error, says({"line 2"}));
    }
    BOOST_CHECK_EXCEPTION(chat_template(""), augur::error, says({"no chat template"}));
    BOOST_CHECK_EXCEPTION(chat_template("a\xFF"), augur::error, says({"0xff", "UTF-8"}));
}

BOOST_AUTO_TEST_CASE(the_clock_is_given) {
    const render_options then{.clock = [] {
        std::tm day{};
        day.tm_year = 124;
        day.tm_mon = 6;
        day.tm_mday = 5;
        return day;
    }};
    BOOST_TEST(chat_template("{{ strftime_now('%d %b %Y, %-d') }}").render(question, then) == "05 Jul 2024, 5");
    BOOST_CHECK_THROW(chat_template("{{ strftime_now('%Q') }}").render(question, then), augur::error);
}

BOOST_AUTO_TEST_CASE(tokens_tools_and_further_members) {
    auto words = augur::testing::sentencepiece_words();
    words.chat_template =
        "{{ bos_token }}{{ eos_token }}{{ tools is none }}{{ messages[0].name }}{{ messages[0].content }}";
    words.tool_template = "T{{ tools|length }}";
    const chat_template layout(words);
    const chat named = {{"user", "a", {{"name", "N"}, {"content", nullptr}}}};
    BOOST_TEST(layout.render(named) == "<s></s>TrueNNone");
    BOOST_TEST(layout.render(named, {.tools = {1, 2}}) == "T2");
    words.bos = augur::no_token;
    words.add_bos = false;
    words.tool_template.clear();
    BOOST_TEST(chat_template(words).render(named, {.tools = json::array()}) == "</s>FalseNNone");
}

/// Each of these ends soon, with one error.
BOOST_AUTO_TEST_CASE(hostile_templates_are_bounded) {
    const auto many = [](std::string_view text, std::size_t times) {
        std::string all;
        for (std::size_t i = 0; i < times; ++i) all += text;
        return all;
    };
    const std::vector<std::string> hostile = {
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 99999999999 }}",
        "{{ range(100001) }}",
        "{% set n = namespace(a='aa') %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
        "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}",
        "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
        "{% set n = namespace(a=1) %}{% for i in range(9999) %}{% set n.a = [n.a] %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{{ " + many("(", 5000) + "1" + many(")", 5000) + " }}",
        "{{ " + many("not ", 5000) + "1 }}",
        "{{ 1" + many("+1", 5000) + " }}",
        "{{ x" + many("|list", 5000) + " }}",
        many("{% for m in messages %}", 5000),
        many("{{", 100000),
        many("{%", 100000),
        "{{ 9223372036854775807 + 1 }}",
        "{{ 99999999999999999999 }}"};
    for (const auto& source : hostile) BOOST_CHECK_THROW(written(source), augur::error);
    const std::string large(longest_chat_template + 1, 'x');
    BOOST_CHECK_EXCEPTION(chat_template{large}, augur::error, says({"1048577 bytes", "the 1048576 that"}));
    // What refers to itself is let go.
    BOOST_TEST(written("{% set n = namespace() %}{% set n.n = n %}{% macro m() %}{% endmacro %}{% set n.m = m %}") ==
               "");
}

BOOST_AUTO_TEST_SUITE_END()
