// In place of llama_cpp_*.cpp, where the program is built without llama.cpp.

#include <augur/types/error.hpp>

#include "scoring_engine.hpp"

namespace augur::program {
namespace {

constexpr const char* how_to_get_it =
    "configure with -Daugur_LLAMA_CPP=$(python3 examples/fetch.py llama.cpp), or where find_package(llama) finds it";

[[noreturn]] void refuse() {
    detail::fail("--engine llama.cpp: this program was built without it; ", how_to_get_it);
}

}  // namespace

bool has_llama_cpp() {
    return false;
}

std::string llama_cpp_backends() {
    return std::string("not in this build; ") + how_to_get_it;
}

void check_llama_cpp(const engine_options&, const model_options&) {
    refuse();
}

void check_scores_suffice(const scheme_options&) {
    refuse();
}

std::unique_ptr<scoring_words> load_scoring_words(const std::string&) {
    refuse();
}

scoring_grammar load_scoring_grammar(const std::string&, const std::string&) {
    detail::fail("--grammar and --json-schema need llama.cpp, and this program was built without it; ", how_to_get_it);
}

scoring_needs needs_of(const scheme_options&) {
    return {};
}

std::shared_ptr<const scoring_weights> load_scoring_weights(const std::string&, const engine_options&) {
    refuse();
}

scoring_model scoring_on(const std::shared_ptr<const scoring_weights>&, const model_options&, const engine_options&,
                         const scoring_needs&) {
    refuse();
}

scoring_model load_scoring_draft(const std::string&, const scoring_needs&, const model_options&, const engine_options&,
                                 const scoring_model&, bool) {
    refuse();
}

checkpoint_files load_scoring_drafters(scoring_drafters&, const scheme_options&, const checkpoint_files&,
                                       const scoring_model&, const model_options&, const engine_options&, bool) {
    refuse();
}

run_result run(const scheme_options&, const model::any_model&, const scoring_drafters&, const run_request&) {
    refuse();
}

}  // namespace augur::program
