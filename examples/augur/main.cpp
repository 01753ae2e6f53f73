// augur: the program. Arguments are CLI11's business, each command's work is in the file of its name.

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <augur/types/error.hpp>
#include <exception>
#include <initializer_list>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "message.hpp"
#include "options.hpp"
#include "output_file.hpp"

namespace {

/// "augur bench verify", as far as the arguments name it.
std::string command_of(const CLI::App& program) {
    std::string name = program.get_name();
    for (const CLI::App* at = &program; !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        name += " " + at->get_name();
    }
    return name;
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
int show_help(const CLI::App& program, const CLI::ParseError& asked) {
    std::ostringstream text, unused;
    const int code = program.exit(asked, text, unused);
    augur::program::print(text.str());
    return code;
}

int execute(CLI::App& program, int count, char** values) {
    try {
        program.parse(count, values);
        return 0;
    } catch (const CLI::ParseError& stopped) {
        if (stopped.get_exit_code() == 0) return show_help(program, stopped);
        return report(std::string(stopped.what()) + " (see " + command_of(program) + " --help)");
    } catch (const augur::error& problem) {
        const std::string message = problem.what();
        return report(is_about_options(message) ? message + " (see " + command_of(program) + " --help)" : message);
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
    augur::program::add_entropy(program);
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
