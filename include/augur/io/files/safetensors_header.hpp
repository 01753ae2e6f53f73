#pragma once
// Parses the JSON header of a safetensors file without building a document: anything outside the schema is an error at
// its position.

#include <augur/io/files/checked.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io {

/// One tensor as the header declares it; nothing is checked against the data yet.
struct safetensors_entry {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::vector<std::uint64_t> offsets;  ///< begin and end in the data section
};

/// {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"KEY": "VALUE", ...}}
/// Memory: what the entries take, at most a small multiple of the text. Errors: `origin`, the tensor, and what stands
/// where something else must; a field that is missing, twice or unknown; numbers that are negative or not integers.
class safetensors_header_reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
    explicit safetensors_header_reader(std::string_view origin) : origin_(origin) {}

    std::vector<safetensors_entry> take_entries() { return std::move(entries_); }

    bool null() override { refuse("null"); }
    bool boolean(bool value) override { refuse(value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override { refuse("the negative number ", value); }
    bool number_float(number_float_t, const string_t& text) override { refuse("the number ", quote(text)); }
    bool binary(binary_t&) override { refuse("binary"); }

    bool number_unsigned(number_unsigned_t value) override {
        if (place_ != place::shape && place_ != place::offsets) refuse("the number ", value);
        (place_ == place::shape ? entries_.back().shape : entries_.back().offsets).push_back(value);
        return true;
    }

    bool string(string_t& value) override {
        if (place_ == place::metadata) return true;
        if (place_ != place::tensor || field_ != "dtype") refuse("the string ", quote(value));
        entries_.back().dtype = value;
        return true;
    }

    bool start_object(std::size_t) override {
        if (place_ == place::document) {
            place_ = place::top;
        } else if (place_ == place::top) {
            place_ = field_ == "__metadata__" ? place::metadata : place::tensor;
            if (place_ == place::tensor) entries_.push_back({.name = field_, .dtype = {}, .shape = {}, .offsets = {}});
        } else {
            refuse("an object");
        }
        return true;
    }

    bool key(string_t& name) override {
        if (place_ == place::top && name == "__metadata__" && std::exchange(has_metadata_, true)) {
            refuse("a second __metadata__");
        }
        if (place_ == place::tensor) {
            const unsigned bit = name == "dtype" ? 1 : name == "shape" ? 2 : name == "data_offsets" ? 4 : 0;
            if (bit == 0) refuse("the unknown field ", quote(name));
            if (fields_ & bit) refuse("a second field ", quote(name));
            fields_ |= bit;
        }
        field_ = name;
        return true;
    }

    bool end_object() override {
        if (place_ == place::tensor && std::exchange(fields_, 0u) != 7) {
            refuse("a tensor without all of dtype, shape and data_offsets");
        }
        place_ = place::top;
        return true;
    }

    bool start_array(std::size_t) override {
        if (place_ != place::tensor || field_ == "dtype") refuse("an array");
        place_ = field_ == "shape" ? place::shape : place::offsets;
        return true;
    }

    bool end_array() override {
        if (place_ == place::offsets && entries_.back().offsets.size() != 2) {
            refuse(entries_.back().offsets.size(), " data_offsets");
        }
        place_ = place::tensor;
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& caught) override {
        augur::detail::fail(origin_, ": ", quote(caught.what(), 300));
    }

 private:
    enum class place { document, top, tensor, shape, offsets, metadata };

    template <class... Found>
    [[noreturn]] void refuse(const Found&... found) const {
        constexpr std::string_view expected[] = {"the header's object",
                                                 "a tensor's object",
                                                 "dtype (a string), shape and data_offsets (arrays)",
                                                 "a dimension",
                                                 "two data_offsets that are not negative",
                                                 "a string of metadata"};
        const bool in_tensor = place_ == place::tensor || place_ == place::shape || place_ == place::offsets;
        augur::detail::fail(origin_, ": ", in_tensor ? "tensor " + quote(entries_.back().name) + ": " : "", found...,
                            " where ", expected[static_cast<std::size_t>(place_)], " must be");
    }

    std::string_view origin_;
    std::vector<safetensors_entry> entries_;
    place place_ = place::document;
    std::string field_;
    unsigned fields_ = 0;
    bool has_metadata_ = false;
};

/// The entries of a header's text, in its order.
inline std::vector<safetensors_entry> read_safetensors_header(std::span<const std::byte> text,
                                                              std::string_view origin) {
    safetensors_header_reader reader(origin);
    const auto* start = reinterpret_cast<const char*>(text.data());
    const std::string_view whole(start, text.size());
    if (whole.find('\0') != whole.npos || whole.starts_with("\xEF\xBB\xBF")) {
        augur::detail::fail(origin, ": the header is no JSON: it holds a zero byte or begins with a byte order mark");
    }
    nlohmann::json::sax_parse(start, start + text.size(), &reader);
    return reader.take_entries();
}

}  // namespace augur::io
