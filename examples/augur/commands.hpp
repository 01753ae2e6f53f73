#pragma once
// The commands. Each adds its options to the program and, when it is called, does its work while they are parsed.

#include <CLI/App.hpp>
#include <string>

namespace augur::program {

void add_generate(CLI::App& program);
void add_answer(CLI::App& program);
void add_chat(CLI::App& program);
void add_entropy(CLI::App& program);
void add_tokenize(CLI::App& program);
void add_logits(CLI::App& program);
void add_bench(CLI::App& program);
void add_advise(CLI::App& program);
void add_bench_schemes(CLI::App& bench);
void add_tune(CLI::App& program);
void add_serve(CLI::App& program);
void add_models(CLI::App& program);
void add_widen(CLI::App& program);
void add_grow(CLI::App& program);
void add_learn(CLI::App& program);

/// Several lines: the version, the compiler, kernels and devices.
std::string version_text();

}  // namespace augur::program
