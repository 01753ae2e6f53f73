// augur's side of a comparison: `bench_peer MODEL THREADS` answers the questions of serve.hpp.

#include <augur/llama/host_model.hpp>

#include "serve.hpp"

namespace {

using namespace augur;

class engine {
 public:
    engine(const std::string& path, const llama::load_options& options)
        : model_(llama::host_model::load(path, options)), sequence_(model_.make_sequence()) {}

    std::size_t vocabulary() const { return model_.vocabulary_size(); }
    std::size_t weight_bytes() const { return model_.memory_bytes(); }
    void extend(const std::vector<token>& tokens, std::size_t rows) { model_.extend(sequence_, tokens, rows); }
    void truncate(std::size_t length) { model_.truncate(sequence_, length); }

 private:
    llama::host_model model_;
    llama::sequence sequence_;
};

}  // namespace

int main(int argc, char** argv) {
    return peer::serve("bench_peer", [&] {
        if (argc != 3) detail::fail("usage: bench_peer MODEL THREADS");
        return engine(argv[1], {.threads = std::stoul(argv[2])});
    });
}
