#pragma once
// The positional and keyword arguments of a call in a template.

#include <augur/io/files/quote.hpp>
#include <augur/io/text/jinja_value.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur::io::jinja {

struct arguments {
    std::vector<value> positional{};
    std::vector<std::pair<std::string, value>> named{};
};

/// What a call gives for each parameter of a filter, test, method or global function.
class bound_arguments {
 public:
    bound_arguments(meter& at, std::string_view name, const arguments& given,
                    std::initializer_list<std::string_view> parameters)
        : at_(at), name_(name), parameters_(parameters), values_(parameters.size()) {
        if (given.positional.size() > parameters.size()) {
            at.fail(name, ": ", given.positional.size(), " arguments, where ", parameters.size(), " are known");
        }
        for (std::size_t i = 0; i < given.positional.size(); ++i) values_[i] = given.positional[i];
        for (const auto& [key, item] : given.named) {
            std::size_t i = 0;
            while (i < parameters_.size() && parameters_[i] != key) ++i;
            if (i == parameters_.size()) at.fail(name, ": the argument ", quote(key, 40), " is not supported");
            if (values_[i]) at.fail(name, ": the argument ", quote(key, 40), " twice");
            values_[i] = item;
        }
    }

    bool has(std::size_t i) const { return values_[i].has_value(); }
    const value& at(std::size_t i) const {
        if (!values_[i]) at_.fail(name_, ": the argument ", parameters_[i], " is missing");
        return *values_[i];
    }
    value value_or(std::size_t i, value otherwise) const { return values_[i] ? *values_[i] : std::move(otherwise); }
    bool truth_or(std::size_t i, bool otherwise) const { return values_[i] ? is_true(*values_[i]) : otherwise; }
    bool is_none_or_missing(std::size_t i) const { return !values_[i] || values_[i]->is<none>(); }

    std::int64_t integer(std::size_t i) const {
        if (!at(i).is_integral()) at_.fail(name_, ": ", parameters_[i], " is a ", type_of(at(i)), ", not an integer");
        return at(i).integer();
    }
    std::int64_t integer_or(std::size_t i, std::int64_t otherwise) const { return values_[i] ? integer(i) : otherwise; }
    const std::string& text(std::size_t i) const {
        if (!at(i).is_text()) at_.fail(name_, ": ", parameters_[i], " is a ", type_of(at(i)), ", not a text");
        return at(i).bytes();
    }

 private:
    meter& at_;
    std::string_view name_;
    std::vector<std::string_view> parameters_;
    std::vector<std::optional<value>> values_;
};

}  // namespace augur::io::jinja
