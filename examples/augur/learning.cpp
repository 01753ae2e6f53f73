#include "learning.hpp"

#include <augur/draft/exit_head.hpp>
#include <augur/llama/exit_head.hpp>
#include <augur/train/checkpoint.hpp>
#include <utility>

namespace augur::program {
namespace {

train::state_identity identity_of(const llama::host_model& target, std::size_t layer) {
    return {target.fingerprint(), layer, target.hidden_size(), target.vocabulary_size()};
}

learned_exit::head_type new_head(const llama::host_model& target, train::head_options chosen, std::size_t layer) {
    const llama::weights& own = target.parameters();
    chosen.epsilon = static_cast<double>(target.configuration().norm_epsilon);
    return {train::packed_base(own.output(), target.threads()),
            {layer, target.vocabulary_size(), own.final_norm, own.head_tokens},
            chosen};
}

}  // namespace

learned_exit::learned_exit(const llama::host_model& target, const learning_options& chosen)
    : identity_(
          identity_of(target, chosen.exit_layer != 0 ? chosen.exit_layer : llama::default_split(target.layer_count()))),
      head_(new_head(target, chosen.head, identity_.layer)) {
    draft::check_exit(head_, target);
    trainer_.emplace(head_, chosen.trainer);
}

void learned_exit::restore(const std::string& adapter) {
    trainer_->restore(train::checkpoint_file::load<float>(adapter, identity_));
}

void learned_exit::save(const std::string& adapter) {
    train::checkpoint_file::save(trainer_->state(), adapter, identity_);
}

learning_options options_of_adapter(const std::string& adapter, const llama::host_model& target) {
    learning_options made;
    train::state_reader in(adapter, train::checkpoint_file::kind, train::checkpoint_file::version);
    made.exit_layer = in.identity().layer;
    made.head = train::checkpoint_file::load<float>(adapter, identity_of(target, made.exit_layer)).options;
    return made;
}

}  // namespace augur::program
