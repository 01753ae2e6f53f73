// A model without a codec cannot read what one with a codec writes.
// expected-error {{a model without a codec cannot read what one with a codec writes}}
#include "augur/switching/rolling_entropy.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/testing/models.hpp"

struct letters {
    std::vector<augur::token> encode(std::string_view bytes) const {
        return std::vector<augur::token>(bytes.size(), augur::token{0});
    }
    std::string bytes_of(augur::token) const { return "a"; }
};

int main() {
    const auto small = augur::testing::hashed_model(8, 1), large = augur::testing::hashed_model(8, 2);
    augur::switched(small, augur::spoken(large, letters{}), augur::switching::rolling_entropy{});
}
