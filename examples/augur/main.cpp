// augur: the program. Arguments are CLI11's business, each command's work is in the file of its name.

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>
#include <exception>
#include <initializer_list>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "help.hpp"
#include "message.hpp"
#include "model_caches.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "spelling.hpp"

namespace {

/// "augur bench verify", as far as the arguments name it, and the last of these.
std::pair<std::string, const CLI::App*> command_of(const CLI::App& program) {
    std::string name = program.get_name();
    const CLI::App* at = &program;
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        name += " " + at->get_name();
    }
    return {name, at};
}

/// What CLI11 says, but of a word that stands where a command has to be, which it does not name.
std::string explained(const CLI::App& program, const CLI::ParseError& stopped) {
    const auto [name, last] = command_of(program);
    const std::vector<std::string> words = program.remaining(true);
    if (last->get_require_subcommand_min() == 0 || words.empty()) return stopped.what();
    std::string valid;
    for (const CLI::App* each : last->get_subcommands([](const CLI::App*) { return true; })) {
        valid += (valid.empty() ? "" : ", ") + each->get_name();
    }
    return augur::io::quote(words.front()) + " is no command of " + name + "; valid are " + valid;
}

std::string see_help(const CLI::App& program) {
    return " (see " + command_of(program).first + " --help)";
}

/// Wherever a model is given, its name in a cache will do.
void take_names_of_models(CLI::App& command) {
    for (const char* name : {"--model", "--draft", "--qualifier", "--heads"}) {
        if (CLI::Option* const option = command.get_option_no_throw(name))
            option->transform(augur::program::find_model);
    }
    for (CLI::App* each : command.get_subcommands([](CLI::App*) { return true; })) take_names_of_models(*each);
}

/// Messages about options begin with one, or say which to give.
bool is_about_options(std::string_view message) {
    return message.starts_with("--") || message.starts_with("give ");
}

/// Whatever went wrong is one line.
int report(const std::string& message) {
    augur::program::tell("error", message);
    return 1;
}

/// What CLI11 prints by itself: help.
int show_help(const CLI::App& program, const CLI::ParseError& asked, bool all) {
    std::ostringstream text, unused;
    const int code = program.exit(asked, text, unused);
    const bool is_help = dynamic_cast<const CLI::CallForHelp*>(&asked) != nullptr;
    augur::program::print(is_help ? augur::program::help_of(*command_of(program).second, all) : text.str());
    return code;
}

int execute(CLI::App& program, int count, char** values) {
    bool help_all = false;
    try {
        auto asked =
            augur::program::spelled(program, std::vector<std::string>(values + std::min(count, 1), values + count));
        help_all = asked.help_all;
        std::reverse(asked.words.begin(), asked.words.end());  // as CLI11 takes them
        program.parse(std::move(asked.words));
        return 0;
    } catch (const CLI::ParseError& stopped) {
        if (stopped.get_exit_code() == 0) return show_help(program, stopped, help_all);
        return report(explained(program, stopped) + see_help(program));
    } catch (const augur::error& problem) {
        const std::string message = problem.what();
        return report(is_about_options(message) ? message + see_help(program) : message);
    }
}

}  // namespace

int main(int count, char** values) {
    CLI::App program("Language models decoded faster by guessing ahead.", "augur");
    program.require_subcommand(1);
    augur::program::add_generate(program);
    augur::program::add_answer(program);
    augur::program::add_tokenize(program);
    augur::program::add_logits(program);
    augur::program::add_bench(program);
    augur::program::add_advise(program);
    augur::program::add_tune(program);
    augur::program::add_widen(program);
    augur::program::add_grow(program);
    augur::program::add_learn(program);
    augur::program::add_chat(program);
    augur::program::add_serve(program);
    augur::program::add_entropy(program);
    augur::program::add_models(program);
    augur::program::add_manual(program);
    take_names_of_models(program);
    program.set_version_flag("--version", augur::program::version_text, "Print the version and what it was built for");
    try {
        augur::program::open_standard_streams();
        return execute(program, count, values);
    } catch (const std::bad_alloc&) {
        return report("out of memory");
    } catch (const std::exception& problem) {
        return report(problem.what());
    }
}
