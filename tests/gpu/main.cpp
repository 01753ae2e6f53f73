// The tests of this folder, where there is a GPU; exit code 77 where there is none.
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include <boost/test/included/unit_test.hpp>
#include <iostream>

#include "augur/llama/device/gpu.hpp"
#include "augur/types/error.hpp"

int main(int count, char** arguments) {
    try {
        std::cout << augur::llama::describe_gpu() << std::endl;
    } catch (const augur::error& none) {
        std::cout << "skipped: " << none.what() << std::endl;
        return 77;
    }
    return boost::unit_test::unit_test_main([] { return true; }, count, arguments);
}
