#include "augur/engines/llama_cpp/complaints.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "engines/tiny_engines.hpp"

using namespace augur;
using namespace augur::testing;
using augur::engines::llama_cpp::complaints;

BOOST_AUTO_TEST_SUITE(engines_complaints)

namespace {

void log(ggml_log_level level, const char* text) {
    ggml_log_callback callback = nullptr;
    void* data = nullptr;
    ggml_log_get(&callback, &data);
    callback(level, text, data);
}

}  // namespace

BOOST_AUTO_TEST_CASE(errors_are_told_in_one_line_and_warnings_where_there_are_none) {
    complaints said;
    BOOST_CHECK_EXCEPTION(said.fail("no model of ", 7), error,
                          [](const error& e) { return std::string(e.what()) == "no model of 7"; });
    log(GGML_LOG_LEVEL_INFO, "all is well\n");
    log(GGML_LOG_LEVEL_WARN, "it is old\n");
    BOOST_CHECK_EXCEPTION(said.fail("no model"), error, [](const error& e) {
        return std::string(e.what()) == "no model; llama.cpp says: it is old";
    });
    log(GGML_LOG_LEVEL_ERROR, "it is ");
    log(GGML_LOG_LEVEL_CONT, "broken\n\n");
    log(GGML_LOG_LEVEL_ERROR, "gone\n");
    BOOST_CHECK_EXCEPTION(said.fail("no model"), error, [](const error& e) {
        return std::string(e.what()) == "no model; llama.cpp says: it is broken; gone";
    });
}

BOOST_AUTO_TEST_CASE(the_innermost_hears) {
    complaints outer;
    {
        const complaints inner;
        log(GGML_LOG_LEVEL_ERROR, "inside\n");
    }
    log(GGML_LOG_LEVEL_ERROR, "outside\n");
    BOOST_CHECK_EXCEPTION(outer.fail("x"), error,
                          [](const error& e) { return std::string(e.what()) == "x; llama.cpp says: outside"; });
}

BOOST_AUTO_TEST_SUITE_END()
