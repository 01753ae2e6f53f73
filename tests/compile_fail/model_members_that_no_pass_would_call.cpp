// Members by which a model offers passes, written otherwise than they are called or said, are refused, not passed over.
// expected-error {{this model's run must be callable as model.run}}
// expected-error {{this model's passes must be static constexpr augur::pass_features}}
// expected-error {{this model says what passes its run can do, but it has no run}}
// expected-error {{this model's keep must be callable as model.keep}}
// expected-error {{this model promises pass features that do not exist}}
// expected-error {{a model with pass_features::trees must have keep}}
// expected-error {{a model with pass_features::states must have hidden_size}}
// expected-error {{a model with pass_features::layers must have layer_count}}
#include "augur/model/run.hpp"
#include "augur/testing/models.hpp"

using augur::pass_features;
using model = augur::testing::function_model;
using passes_of_mocks = std::span<const augur::pass<augur::testing::mock_sequence>>;

struct runs_one : model {
    augur::scores run(const augur::pass<augur::testing::mock_sequence>&) const { return {}; }
};
struct says_a_number : model {
    static constexpr int passes = 1;
};
struct only_says : model {
    static constexpr pass_features passes = pass_features::batches;
};
struct keeps_nodes : model {
    bool keep(sequence_type&, std::span<const std::size_t>) const { return true; }
};
template <pass_features F>
struct promises : model {
    static constexpr pass_features passes = F;
    augur::scores run(passes_of_mocks) const { return {}; }
};

template <class M>
void asked(const M& of) {
    auto sequence = of.make_sequence();
    augur::model::run(of, {.sequence = &sequence});
}

int main() {
    const auto of = augur::testing::hashed_model(8, 1);
    asked(runs_one{of});
    asked(says_a_number{of});
    asked(only_says{of});
    asked(keeps_nodes{of});
    asked(promises<static_cast<pass_features>(16)>{of});
    asked(promises<pass_features::trees>{of});
    asked(promises<pass_features::states>{of});
    asked(promises<pass_features::layers>{of});
}
