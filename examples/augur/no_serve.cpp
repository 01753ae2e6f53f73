// In place of serve*.cpp, where the program is built without cpp-httplib.

#include <augur/types/error.hpp>

#include "commands.hpp"

namespace augur::program {

void add_serve(CLI::App& program) {
    auto* command = program.add_subcommand("serve", "Serve a model over HTTP (not in this build)");
    command->allow_extras();
    command->callback([] {
        detail::fail(
            "'augur serve': this program was built without cpp-httplib 0.11, which serves HTTP; install "
            "libcpp-httplib-dev, and configure and build it anew");
    });
}

}  // namespace augur::program
