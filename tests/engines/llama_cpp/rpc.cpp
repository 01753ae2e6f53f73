#include "augur/engines/llama_cpp/rpc.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "augur/augur.hpp"
#include "augur/engines/llama_cpp.hpp"
#include "engines/rpc_server.hpp"
#include "engines/tiny_engines.hpp"
#include "in_child.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

/// Of LeakSanitizer: the RPC backend keeps devices and events for good.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libggml-rpc.so\nleak:ggml_backend_rpc_add_server\n";
}

BOOST_AUTO_TEST_SUITE(engines_rpc)

namespace {

decode::options greedy() {
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 40;
    return chosen;
}

const std::vector<token> prompt{5, 9, 5, 9, 7, 5};

template <class Target>
auto looked_up(const Target& target, const decode::options& chosen) {
    const auto scheme = speculate(draft::prompt_lookup(), target, policy::fixed_length{4}, accept::exact{});
    return decode::generate<lossless_within_numerics>(scheme, prompt, chosen);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_split_over_two_servers_writes_the_text_of_one_process) {
    llama_cpp::complaints::initialize();
    if (!rpc_server::is_there()) {
        BOOST_TEST_MESSAGE("skipped: this llama.cpp has no RPC backend");
        return;
    }
    const rpc_server one, two;
    const temporary_directory folder;
    const auto path = tiny_gguf().write(folder / "tiny.gguf");
    const auto local = llama_cpp::weights::load(path, {.gpu_layers = 0});
    const auto remote = llama_cpp::weights::load(path, {.rpc = {one.endpoint(), two.endpoint()}});
    const auto devices = llama_cpp::devices_of({one.endpoint(), two.endpoint()});
    BOOST_TEST(devices.size() == 3u);
    const auto expected = looked_up(llama_cpp::streams(local, exact()), greedy());
    const auto chains = looked_up(llama_cpp::streams(remote, exact()), greedy());
    BOOST_TEST(chains.tokens == expected.tokens, boost::test_tools::per_element());
    BOOST_TEST(chains.counts.rounds() == expected.counts.rounds());
    const auto trees = looked_up(llama_cpp::trees(remote, exact()), greedy());
    BOOST_TEST(trees.tokens == expected.tokens, boost::test_tools::per_element());
}

/// Without limit llama.cpp would wait for the first, and end the process by the second's answer.
BOOST_AUTO_TEST_CASE(servers_that_are_absent_silent_or_of_another_kind_are_refused) {
    llama_cpp::complaints::initialize();
    if (!rpc_server::is_there()) {
        BOOST_TEST_MESSAGE("skipped: this llama.cpp has no RPC backend");
        return;
    }
    const auto refused = [](const std::string& text) {
        return [text](const error& problem) { return std::string(problem.what()).find(text) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(llama_cpp::devices_of({"127.0.0.1:1"}), error, refused("127.0.0.1:1 does not answer"));
    BOOST_CHECK_EXCEPTION(llama_cpp::devices_of({"127.0.0.1"}), error, refused("\"127.0.0.1\""));
    const listening_socket silent;
    const auto add = reinterpret_cast<llama_cpp::detail::server_adder>(
        ggml_backend_reg_get_proc_address(ggml_backend_reg_by_name("RPC"), "ggml_backend_rpc_add_server"));
    BOOST_CHECK_EXCEPTION(llama_cpp::detail::check_answers(add, silent.endpoint(), 1), error,
                          refused(silent.endpoint() + " takes connections, but does not answer within 1 s"));
    const listening_socket other;
    std::thread closing([&] { other.close_next(); });
    BOOST_CHECK_EXCEPTION(llama_cpp::detail::check_answers(add, other.endpoint(), 20), error,
                          refused(other.endpoint() + " there is no RPC server"));
    closing.join();
}

/// What llama.cpp does, not we: where it no longer hears a server it ends the process, and what was committed by then
/// is what on_token has given away.
BOOST_AUTO_TEST_CASE(a_server_that_is_killed_ends_the_process) {
    llama_cpp::complaints::initialize();
    if (!rpc_server::is_there()) {
        BOOST_TEST_MESSAGE("skipped: this llama.cpp has no RPC backend");
        return;
    }
    rpc_server server;
    const temporary_directory folder;
    const auto path = tiny_gguf().write(folder / "tiny.gguf");
    int committed[2];
    BOOST_REQUIRE(::pipe(committed) == 0);
    const auto ended = in_child([&] {
        std::signal(SIGABRT, SIG_DFL);  // Boost's would go on to the next test
        ::setenv("GGML_NO_BACKTRACE", "1", 1);
        ::close(2);  // it says that it ends
        const auto remote = llama_cpp::weights::load(path, {.rpc = {server.endpoint()}});
        auto chosen = greedy();
        int tokens = 0;
        chosen.on_token = [&](const auto&...) {
            if (::write(committed[1], "+", 1) == 1 && ++tokens == 10) server.kill();
            return true;
        };
        looked_up(llama_cpp::streams(remote, exact()), chosen);
        return 0;
    });
    BOOST_TEST((ended == -1));
    char seen[64];
    const auto count = ::read(committed[0], seen, sizeof seen);
    BOOST_TEST(count >= 10);
    BOOST_TEST(count < 40);
}

BOOST_AUTO_TEST_SUITE_END()
