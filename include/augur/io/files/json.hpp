#pragma once
// Parses JSON from untrusted files, with limits on size, depth and number of values. See docs/io/json.md.

#include <augur/io/files/quote.hpp>
#include <augur/io/files/regular_file.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace augur::io {

/// Limits of a document. Memory is at most the text's and some 150 bytes for each value and key.
struct json_limits {
    std::uint64_t bytes = 1 << 20;
    std::size_t depth = 64;        ///< of objects and arrays in one another
    std::size_t values = 1 << 20;  ///< of any kind, those inside others too
};

/// Builds a document from the parser's events, which come one after another: nothing here or there is recursive. Json:
/// nlohmann::json, or nlohmann::ordered_json, which keeps the order of keys.
template <class Json>
class json_builder final : public nlohmann::json_sax<Json> {
 public:
    json_builder(std::string_view origin, const json_limits& limits) : origin_(origin), limits_(limits) {}

    Json take() { return std::move(document_); }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(typename Json::number_integer_t value) override { return add(value); }
    bool number_unsigned(typename Json::number_unsigned_t value) override { return add(value); }
    bool number_float(typename Json::number_float_t value, const std::string&) override { return add(value); }
    bool string(std::string& value) override { return add(std::move(value)); }
    bool binary(typename Json::binary_t&) override { augur::detail::fail(origin_, ": binary data in JSON"); }
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(std::string& name) override {
        level& at = open_.back();
        auto& members = at.value->template get_ref<typename Json::object_t&>();
        bool is_new = true;
        if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {  // its emplace looks through all members
            is_new = at.keys.insert(name).second;
            member_ = &members.emplace_back(name, nullptr).second;
        } else {
            const auto placed = members.emplace(name, nullptr);
            is_new = placed.second;
            member_ = &placed.first->second;
        }
        if (!is_new) augur::detail::fail(origin_, ": duplicate key ", quote(name));
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& caught) override {
        std::string_view what = caught.what();
        if (what.starts_with("[json.exception.")) what.remove_prefix(what.find(']') + 2);
        augur::detail::fail(origin_, ": it cannot be read as JSON: ", quote(what, 300));
    }

 private:
    struct level {
        Json* value;
        std::set<std::string> keys;  // of an ordered object: it cannot look for one
    };

    bool add(Json value) {
        place(std::move(value));
        return true;
    }

    bool open(Json value) {
        if (open_.size() == limits_.depth) {
            augur::detail::fail(origin_, ": nested more than ", limits_.depth, " levels deep");
        }
        open_.push_back({place(std::move(value)), {}});
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    Json* place(Json value) {
        if (++values_ > limits_.values) {
            augur::detail::fail(origin_, ": more than the ", limits_.values, " values that are read");
        }
        if (open_.empty()) return &(document_ = std::move(value));
        Json& around = *open_.back().value;
        if (around.is_object()) return &(*member_ = std::move(value));
        auto& elements = around.template get_ref<typename Json::array_t&>();
        return &elements.emplace_back(std::move(value));
    }

    std::string_view origin_;
    json_limits limits_;
    Json document_;
    std::vector<level> open_;  // the objects and arrays around the current place
    Json* member_ = nullptr;   // the value of the last key
    std::size_t values_ = 0;
};

/// The document in `text`; `origin` names it in messages. Errors: anything that is not JSON, a key twice in one object,
/// whatever exceeds the limits.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, std::string_view origin, const json_limits& limits = {}) {
    if (text.size() > limits.bytes) {
        augur::detail::fail(origin, ": ", text.size(), " bytes of JSON, more than the ", limits.bytes,
                            " that are read");
    }
    if (text.find_first_not_of(" \t\r\n") == text.npos) {
        augur::detail::fail(origin, ": it is empty, but must be a JSON document");
    }
    if (const auto zero = text.find('\0'); zero != text.npos) {
        augur::detail::fail(origin, ": it cannot be read as JSON: byte ", zero, " of ", text.size(), " is 0");
    }
    json_builder<Json> builder(origin, limits);
    Json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
}

/// The document in a regular file; of a larger one nothing is read.
template <class Json = nlohmann::json>
Json read_json(const std::filesystem::path& path, const json_limits& limits = {}) {
    return parse_json<Json>(read_text(path, limits.bytes), path.string(), limits);
}

}  // namespace augur::io
