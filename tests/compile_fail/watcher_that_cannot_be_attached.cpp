// A watcher that wants to know its session says so with the right signature.
// expected-error {{this watcher has a member attach that cannot be called as void attach\(const auto& session\)}}
#include "augur/decode/generate.hpp"
#include "augur/testing/models.hpp"

struct watcher {
    void attach() {}
    void watch(const auto&) {}
};

int main() {
    const auto model = augur::testing::hashed_model(8, 1);
    augur::decode::generate(augur::plain(model), std::vector<augur::token>{1}, {}, watcher{});
}
