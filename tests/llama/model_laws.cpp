// The Llama under the suite that every model can be put under.

#include <augur/testing/model_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>

#include "llama/small_llama.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(llama_model_laws)

using namespace augur;

BOOST_AUTO_TEST_CASE(the_bundled_llama_keeps_them) {
    using enum io::tensor_type;
    for (const auto type : {f32, bf16, q8_0, q4_1}) {
        const auto model = testing::small_llama(type).load();
        const auto r = testing::model_laws(model, {.cases = testing::unless_sanitized<std::size_t>(20, 5)});
        BOOST_TEST(r.kept(), io::name_of(type) << ": " << r);
        BOOST_TEST(r.skipped.empty(), r);
    }
}

BOOST_AUTO_TEST_CASE(keys_and_values_in_q8_0_keep_them) {
    const auto model = testing::small_llama(io::tensor_type::f32, 64, 2, 1).load({.cache = llama::cache_format::q8_0});
    const auto r = testing::model_laws(model, {.cases = testing::unless_sanitized<std::size_t>(20, 5)});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

BOOST_AUTO_TEST_SUITE_END()
