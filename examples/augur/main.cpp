// augur: the program. Arguments are CLI11's business, each command's work is in the file of its name.

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <initializer_list>
#include <new>
#include <sstream>
#include <string>

#include "commands.hpp"
#include "message.hpp"
#include "options.hpp"
#include "output_file.hpp"

namespace {

void add_reserved_commands(CLI::App& program) {
    for (const std::string name : {"entropy"}) {
        auto* command = program.add_subcommand(name, "Not available in this version");
        command->allow_extras();
        command->set_help_flag();
        command->callback([name] { augur::detail::fail("'augur ", name, "' is not available in this version"); });
    }
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
        return report(std::string(stopped.what()) + " (see augur --help)");
    }
}

}  // namespace

int main(int count, char** values) {
    CLI::App program("Language models decoded faster by guessing ahead.", "augur");
    program.require_subcommand(1);
    augur::program::add_generate(program);
    augur::program::add_tokenize(program);
    augur::program::add_logits(program);
    augur::program::add_bench(program);
    augur::program::add_tune(program);
    augur::program::add_widen(program);
    augur::program::add_grow(program);
    augur::program::add_learn(program);
    add_reserved_commands(program);
    try {
        augur::program::open_standard_streams();
        return execute(program, count, values);
    } catch (const std::bad_alloc&) {
        return report("out of memory");
    } catch (const std::exception& problem) {
        return report(problem.what());
    }
}
