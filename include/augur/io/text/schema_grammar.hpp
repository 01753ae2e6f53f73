#pragma once
// A JSON schema as a GBNF grammar of the texts that it admits.

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

/// Writes the rules of one schema. See schema_grammar.
class schema_rules {
 public:
    using json = nlohmann::ordered_json;

    std::string write(const json& schema) {
        const std::string root = value_of(schema, "#");
        std::string text = "root ::= " + root + "\n";
        for (const auto& [name, body] : rules_) text += name + " ::= " + body + "\n";
        return text;
    }

 private:
    [[noreturn]] static void refuse(const std::string& at, const auto&... why) {
        augur::detail::fail("JSON schema, at ", quote(at), ": ", why...);
    }

    static std::string shown(const json& value) { return value.dump(-1, ' ', true); }

    static bool is_note(const std::string& key) {
        constexpr std::array<std::string_view, 9> notes = {"title", "description", "default",  "examples",  "$schema",
                                                           "$id",   "$comment",    "readOnly", "deprecated"};
        return std::find(notes.begin(), notes.end(), key) != notes.end();
    }

    /// Every other key than these, and notes, is refused: what it says would not be kept.
    static void allow_only(const json& schema, const std::string& at, const std::vector<std::string_view>& known) {
        for (const auto& [key, _] : schema.items()) {
            if (is_note(key) || std::find(known.begin(), known.end(), key) != known.end()) continue;
            refuse(at, quote(key), " is not supported here; supported are type, enum, const, anyOf, properties, ",
                   "required, additionalProperties (true or false), items, minItems, maxItems, minLength and ",
                   "maxLength, each where its type is");
        }
    }

    std::string value_of(const json& schema, const std::string& at) {
        if (schema.is_boolean() && schema.get<bool>()) return any();
        if (!schema.is_object()) refuse(at, "a schema is an object or true, and this is ", schema.type_name());
        if (schema.contains("const")) {
            allow_only(schema, at, {"const", "type"});
            return one_of({schema["const"]}, schema, at);
        }
        if (schema.contains("enum")) {
            allow_only(schema, at, {"enum", "type"});
            if (!schema["enum"].is_array() || schema["enum"].empty()) refuse(at, "enum is not a list of values");
            return one_of({schema["enum"].begin(), schema["enum"].end()}, schema, at);
        }
        if (schema.contains("anyOf")) return any_of(schema, at);
        if (schema.contains("type")) return typed(schema, at);
        allow_only(schema, at, {});
        return any();
    }

    static bool is_of(const json& value, const std::string& type) {
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        return (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
               (type == "null" && value.is_null()) || (type == "object" && value.is_object()) ||
               (type == "array" && value.is_array());
    }

    std::string one_of(const std::vector<json>& values, const json& schema, const std::string& at) {
        std::vector<std::string> texts;
        for (const json& value : values) {
            const bool fits = !schema.contains("type") || [&] {
                const std::vector<std::string> types = types_of(schema, at);
                return std::any_of(types.begin(), types.end(), [&](const auto& type) { return is_of(value, type); });
            }();
            if (!fits) refuse(at, "the value ", shown(value), " is not of type ", shown(schema["type"]));
            texts.push_back(literal(value.dump()));
        }
        return alternatives(texts);
    }

    std::string any_of(const json& schema, const std::string& at) {
        allow_only(schema, at, {"anyOf"});
        const json& all = schema["anyOf"];
        if (!all.is_array() || all.empty()) refuse(at, "anyOf is not a list of schemas");
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < all.size(); ++i) {
            texts.push_back(value_of(all[i], at + "/anyOf/" + std::to_string(i)));
        }
        return alternatives(texts);
    }

    static std::vector<std::string> types_of(const json& schema, const std::string& at) {
        const json& type = schema["type"];
        const json all = type.is_array() ? type : json::array({type});
        std::vector<std::string> names;
        for (const json& each : all) {
            if (!each.is_string()) refuse(at, "type is ", shown(type), "; it must be a name or a list of names");
            names.push_back(each.get<std::string>());
        }
        if (names.empty()) refuse(at, "type is an empty list");
        return names;
    }

    std::string typed(const json& schema, const std::string& at) {
        const std::vector<std::string> types = types_of(schema, at);
        std::vector<std::string_view> known = {"type"};
        const auto has = [&](std::string_view type) {
            return std::find(types.begin(), types.end(), type) != types.end();
        };
        if (has("object")) known.insert(known.end(), {"properties", "required", "additionalProperties"});
        if (has("array")) known.insert(known.end(), {"items", "minItems", "maxItems"});
        if (has("string")) known.insert(known.end(), {"minLength", "maxLength"});
        allow_only(schema, at, known);
        std::vector<std::string> texts;
        for (const std::string& type : types) texts.push_back(of_type(type, schema, at));
        return alternatives(texts);
    }

    std::string of_type(const std::string& type, const json& schema, const std::string& at) {
        if (type == "object") return object(schema, at);
        if (type == "array") return array(schema, at);
        if (type == "string") return string(schema, at);
        if (type == "integer") return rule("integer", R"("-"? ("0" | [1-9] [0-9]{0,15}))");
        if (type == "number") return number();
        if (type == "boolean") return R"(("true" | "false"))";
        if (type == "null") return R"("null")";
        refuse(at, "type ", quote(type),
               " is unknown; valid are object, array, string, number, integer, boolean and null");
    }

    std::string number() {
        return rule("number", R"("-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?)");
    }
    /// Every character stands for itself but those that JSON escapes; no escape by number, which can be half of one.
    std::string character() { return rule("character", R"([^"\\\x00-\x1F\x7F] | "\\" ["\\bfnrt])"); }
    std::string string(const json& schema, const std::string& at) {
        const auto [least, most] = bounds(schema, "minLength", "maxLength", at);
        if (least == 0 && most == no_bound) {
            return rule("string", R"("\"" )" + character() + R"(* "\"")");
        }
        return R"("\"" )" + character() + times(least, most) + R"( "\"")";
    }
    std::string any() {
        character();
        number();
        string(json::object(), "#");
        rule("anything", R"(anyobject | anyarray | string | number | "true" | "false" | "null")");
        rule("anyobject", R"("{" (string ": " anything (", " string ": " anything)*)? "}")");
        rule("anyarray", R"("[" (anything (", " anything)*)? "]")");
        return "anything";
    }

    std::string array(const json& schema, const std::string& at) {
        const auto [least, most] = bounds(schema, "minItems", "maxItems", at);
        const std::string item = schema.contains("items") ? value_of(schema["items"], at + "/items") : any();
        if (most == 0) return R"("[]")";
        const std::string further =
            "(\", \" " + item + ")" + times(least == 0 ? 0 : least - 1, most == no_bound ? no_bound : most - 1);
        const std::string items = item + " " + further;
        return least == 0 ? "\"[\" (" + items + ")? \"]\"" : "\"[\" " + items + " \"]\"";
    }

    std::string object(const json& schema, const std::string& at) {
        if (schema.contains("additionalProperties") && !schema["additionalProperties"].is_boolean()) {
            refuse(at, "additionalProperties is not true or false, which is not supported");
        }
        const json properties = schema.value("properties", json::object());
        const json required = schema.value("required", json::array());
        if (!properties.is_object()) refuse(at, "properties is not an object");
        if (!required.is_array()) refuse(at, "required is not a list");
        for (const json& name : required) {
            if (name.is_string() && properties.contains(name.get<std::string>())) continue;
            refuse(at, "required names ", shown(name), ", which is none of its properties");
        }
        if (properties.empty()) {
            if (schema.value("additionalProperties", true)) return any(), "anyobject";
            return R"("{}")";
        }
        std::string tail, first;  // what follows a member, and what follows none, from the last member back
        for (auto each = properties.end(); each != properties.begin();) {
            --each;
            const bool needed = std::find(required.begin(), required.end(), json(each.key())) != required.end();
            const std::string member = literal(json(each.key()).dump() + ": ") + " " +
                                       value_of(each.value(), at + "/properties/" + each.key());
            const std::string next = tail.empty() ? "" : " " + tail;
            first = needed          ? member + next
                    : first.empty() ? "(" + member + next + ")?"
                                    : "(" + member + next + " | " + first + ")";
            tail = new_rule(needed ? "\", \" " + member + next : "(\", \" " + member + ")?" + next);
        }
        return "\"{\" " + first + " \"}\"";
    }

    static constexpr std::size_t no_bound = static_cast<std::size_t>(-1);
    struct range {
        std::size_t least, most;
    };
    static range bounds(const json& schema, const char* least, const char* most, const std::string& at) {
        const auto bound = [&](const char* name, std::size_t usual) {
            if (!schema.contains(name)) return usual;
            const json& value = schema[name];
            if (!value.is_number_unsigned() || value.get<std::size_t>() > 1000) {
                refuse(at, name, " is ", shown(value), "; it must be a whole number from 0 to 1000");
            }
            return value.get<std::size_t>();
        };
        const range found{bound(least, 0), bound(most, no_bound)};
        if (found.least > found.most) refuse(at, least, " is ", found.least, ", above ", most, ", ", found.most);
        return found;
    }
    static std::string times(std::size_t least, std::size_t most) {
        return "{" + std::to_string(least) + "," + (most == no_bound ? "" : std::to_string(most)) + "}";
    }

    static std::string alternatives(const std::vector<std::string>& texts) {
        if (texts.size() == 1) return texts.front();
        std::string all;
        for (const std::string& text : texts) all += (all.empty() ? "(" : " | ") + text;
        return all + ")";
    }
    static std::string literal(std::string_view text) {
        std::string quoted = "\"";
        for (const char c : text) {
            if (c == '"' || c == '\\') quoted += '\\';
            quoted += c;
        }
        return quoted + '"';
    }

    std::string rule(const std::string& name, const std::string& body) {
        const auto known = [&](const auto& each) { return each.first == name; };
        if (std::none_of(rules_.begin(), rules_.end(), known)) rules_.emplace_back(name, body);
        return name;
    }
    std::string new_rule(const std::string& body) { return rule("more" + std::to_string(count_++), body); }

    std::vector<std::pair<std::string, std::string>> rules_;
    std::size_t count_ = 0;
};

/// The rule `root` and those that it needs, in GBNF, of texts that the schema admits: JSON on one line, members in the
/// order of `properties`, ", " and ": " between things, as Python's json.dumps writes it. Not of all such texts: no
/// members beside `properties`, numbers of up to 16 digits before and after the point, no escapes by number in strings.
/// Without properties an object has any members. Supported are types (one or several), enum, const, anyOf, properties,
/// required, additionalProperties as true or false, items, minItems, maxItems, minLength, maxLength; notes such as
/// title and description say nothing. Errors: any other key, by name and place; values that no text could have.
/// Cost: linear in the schema's size.
inline std::string schema_grammar(const nlohmann::ordered_json& schema) {
    return schema_rules().write(schema);
}

}  // namespace augur::io
