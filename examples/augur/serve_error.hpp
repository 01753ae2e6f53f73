#pragma once
// What a request is refused with, in the form that clients of the API know.

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace augur::program {

class api_error : public std::exception {
 public:
    /// `param`: the field at fault, or empty.
    api_error(int status, std::string code, std::string message, std::string param = "")
        : status_(status), code_(std::move(code)), message_(std::move(message)), param_(std::move(param)) {}

    int status() const { return status_; }
    const char* what() const noexcept override { return message_.c_str(); }
    nlohmann::ordered_json json() const {
        nlohmann::ordered_json param = nullptr;
        if (!param_.empty()) param = param_;
        return {{"error", {{"message", message_}, {"type", type()}, {"code", code_}, {"param", param}}}};
    }

 private:
    const char* type() const {
        if (status_ == 401) return "authentication_error";
        if (status_ == 404) return "not_found_error";
        if (status_ == 429) return "rate_limit_error";
        return status_ >= 500 ? "server_error" : "invalid_request_error";
    }

    int status_;
    std::string code_, message_, param_;
};

}  // namespace augur::program
