#include "chat_file.hpp"

#include <augur/io/files/json.hpp>
#include <augur/io/files/json_reader.hpp>
#include <cstddef>
#include <utility>

#include "limits.hpp"
#include "message.hpp"
#include "output_file.hpp"

namespace augur::program {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* conversation_format = "augur conversation";
constexpr io::json_limits conversation_limits{.bytes = most::text_bytes, .depth = 16, .values = 1u << 20};

}  // namespace

void save_conversation(const std::string& path, const std::vector<io::chat_message>& messages) {
    json all = json::array();
    for (const io::chat_message& each : messages) all.push_back({{"role", each.role}, {"content", each.content}});
    output_file file(path);
    file.write(json_line({{"format", conversation_format}, {"version", 1}, {"messages", std::move(all)}}));
    file.commit();
}

std::vector<io::chat_message> load_conversation(const std::string& path) {
    const json root = io::read_json<json>(path, conversation_limits);
    const io::json_reader<json> file(root, path);
    if (const auto is = file.required<std::string>("format"); is != conversation_format) {
        detail::fail(path, ": format is ", io::quote(is), ", not ", io::quote(conversation_format));
    }
    static_cast<void>(file.required<int>("version", {.least = 1, .most = 1}));
    const json* const all = file.find("messages");
    if (all == nullptr || !all->is_array()) detail::fail(path, ": messages must be an array");
    std::vector<io::chat_message> messages;
    for (const json& each : *all) {
        const std::string who = detail::message(path, ": messages[", messages.size(), "]");
        const io::json_reader<json> message(each, who);
        auto role = message.required<std::string>("role");
        const bool has_system = !messages.empty() && messages.front().role == "system";
        const bool is_users = (messages.size() - (has_system ? 1 : 0)) % 2 == 0;
        const bool is_system = messages.empty() && role == "system";
        if (!is_system && role != (is_users ? "user" : "assistant")) {
            detail::fail(who, " is of ", io::quote(role), ", where one of '", is_users ? "user" : "assistant",
                         "' is needed: messages and answers take turns, behind at most one of 'system'");
        }
        messages.push_back({std::move(role), message.required<std::string>("content")});
    }
    if (!messages.empty() && messages.back().role == "user") {
        detail::fail(path, ": the last message, ", messages.size() - 1, ", has no answer");
    }
    return messages;
}

}  // namespace augur::program
