// augur completion, augur man: what shells complete, and the manual page, from the options that CLI11 holds.

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <augur/version.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "help.hpp"
#include "output_file.hpp"

namespace augur::program {
namespace {

/// "augur bench verify" and so on, with the commands directly below it.
struct listed_command {
    std::string name;
    const CLI::App* app;
    std::vector<const CLI::App*> below;
};

void list_commands(const CLI::App& of, const std::string& above, std::vector<listed_command>& into) {
    const std::string name = above.empty() ? of.get_name() : above + " " + of.get_name();
    auto below = of.get_subcommands([](const CLI::App*) { return true; });
    into.push_back({name, &of, below});
    for (const CLI::App* each : below) list_commands(*each, name, into);
}

std::vector<listed_command> all_commands(const CLI::App& program) {
    std::vector<listed_command> all;
    list_commands(program, "", all);
    return all;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
        text.replace(at, what.size(), by);
    }
    return text;
}

/// In single quotes, for a shell.
std::string quoted(const std::string& text) {
    return "'" + replaced(text, "'", "'\\''") + "'";
}
std::string quoted_for_fish(const std::string& text) {
    return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

/// Lines of a `case` that follow the words to the command that they name.
std::string cases_of_words(const std::vector<listed_command>& listed) {
    std::string out;
    for (const listed_command& each : listed) {
        for (const CLI::App* below : each.below) {
            const std::string name = each.name + " " + below->get_name();
            out += "            \"" + name + "\") command=\"" + name + "\" ;;\n";
        }
    }
    return out;
}

std::vector<std::string> flags_of(const CLI::Option& option) {
    std::vector<std::string> flags;
    for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
    return flags;
}

std::string bash_completion(const std::vector<listed_command>& listed) {
    std::string words;
    for (const listed_command& each : listed) {
        words += "        \"" + each.name + "\") words=\"";
        for (const CLI::App* below : each.below) words += below->get_name() + " ";
        for (const CLI::Option* option : each.app->get_options()) {
            for (const std::string& flag : flags_of(*option)) words += flag + " ";
        }
        words += "\" ;;\n";
    }
    return "_augur() {\n    local current=\"${COMP_WORDS[COMP_CWORD]}\" command=augur words= word\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n        case \"$command $word\" in\n" +
           cases_of_words(listed) + "        esac\n    done\n    case \"$command\" in\n" + words +
           "    esac\n    COMPREPLY=()\n"
           "    if [[ $current == -* || $command == augur || $command == \"augur bench\" ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n    else\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n    fi\n}\n"
           "complete -o filenames -F _augur augur\n";
}

std::string zsh_completion(const std::vector<listed_command>& listed) {
    std::string names;
    for (const listed_command& each : listed) {
        names += "        \"" + each.name + "\") names=(";
        const auto entry = [&](const std::string& name, const std::string& means) {
            names += "\n            " + quoted(replaced(name, ":", "\\:") + ":" + means);
        };
        for (const CLI::App* below : each.below) entry(below->get_name(), below->get_description());
        for (const CLI::Option* option : each.app->get_options()) {
            for (const std::string& flag : flags_of(*option)) entry(flag, option->get_description());
        }
        names += ") ;;\n";
    }
    return "#compdef augur\n_augur() {\n    local command=augur word\n    local -a names\n"
           "    for word in ${words[2,CURRENT-1]}; do\n        case \"$command $word\" in\n" +
           cases_of_words(listed) + "        esac\n    done\n    case \"$command\" in\n" + names +
           "    esac\n    _describe -o augur names\n    [[ $PREFIX == -* ]] || _files\n}\ncompdef _augur augur\n";
}

std::string fish_completion(const std::vector<listed_command>& listed) {
    std::string out;
    for (const listed_command& each : listed) {
        std::string seen;
        for (std::size_t at = each.name.find(' '); at != std::string::npos;) {
            const std::size_t end = each.name.find(' ', at + 1);
            seen += (seen.empty() ? "" : "; and ") +
                    ("__fish_seen_subcommand_from " + each.name.substr(at + 1, end - at - 1));
            at = end;
        }
        const std::string on = "complete -c augur -n " + quoted_for_fish(seen.empty() ? "__fish_use_subcommand" : seen);
        for (const CLI::App* below : each.below) {
            out += on + " -a " + below->get_name() + " -d " + quoted_for_fish(below->get_description()) + "\n";
        }
        for (const CLI::Option* option : each.app->get_options()) {
            if (option->get_lnames().empty()) continue;
            out += on;
            for (const std::string& name : option->get_snames()) out += " -s " + name;
            for (const std::string& name : option->get_lnames()) out += " -l " + name;
            out += (option->get_items_expected_max() > 0 ? " -r -d " : " -d ") +
                   quoted_for_fish(option->get_description()) + "\n";
        }
    }
    return out;
}

/// For a line of a manual page, which troff reads.
std::string troff(const std::string& text) {
    const std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
    return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string manual_page(const std::vector<listed_command>& listed) {
    std::string out = ".TH AUGUR 1 \"\" \"augur " + std::string(version) +
                      "\" \"User commands\"\n.SH NAME\naugur \\- " + troff(listed.front().app->get_description()) +
                      "\n.SH SYNOPSIS\n.B augur\nCOMMAND [OPTIONS]\n";
    for (const listed_command& each : listed) {
        out += ".SH " + troff(each.name) + "\n" + troff(each.app->get_description()) + "\n";
        for (const CLI::Option* option : each.app->get_options()) {
            std::string flags;
            for (const std::string& flag : flags_of(*option)) flags += (flags.empty() ? "" : ", ") + flag;
            if (flags.empty()) flags = option->get_name(true);
            const bool takes = option->get_items_expected_max() > 0;
            out += ".TP\n\\fB" + troff(flags) + "\\fR" + (takes ? " " + troff(option->get_type_name()) : "") + "\n" +
                   troff(option->get_description()) + "\n";
            if (!option->get_default_str().empty()) out += "Default: " + troff(option->get_default_str()) + ".\n";
        }
    }
    return out;
}

void print_completion(const CLI::App& program, const std::string& shell) {
    const auto listed = all_commands(program);
    if (shell == "bash") return print(bash_completion(listed));
    if (shell == "zsh") return print(zsh_completion(listed));
    if (shell == "fish") return print(fish_completion(listed));
    detail::fail("the shell ", io::quote(shell), " is unknown; valid are bash, zsh, fish");
}

}  // namespace

void add_manual(CLI::App& program) {
    auto* completion =
        program.add_subcommand("completion", "Print what a shell completes: source <(augur completion bash)");
    const auto shell = std::make_shared<std::string>();
    completion->add_option("shell", *shell, "bash, zsh or fish")->type_name("SHELL")->required();
    completion->callback([&program, shell] { print_completion(program, *shell); });
    auto* manual = program.add_subcommand("man", "Print the manual page: augur man | man -l -");
    manual->callback([&program] { print(manual_page(all_commands(program))); });
}

}  // namespace augur::program
