// augur --version: which version this is, and what it was compiled for.

#include <augur/backend/host/instruction_set.hpp>
#include <augur/version.hpp>
#include <string>

#include "commands.hpp"
#include "scoring_engine.hpp"

namespace augur::program {
namespace {

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

std::string build() {
#if defined(__OPTIMIZE__)
    return "optimized";
#else
    return "not optimized";
#endif
}

std::string devices() {
#if defined(AUGUR_PROGRAM_CUDA)
    return "cpu, cuda";
#else
    return "cpu (built without CUDA)";
#endif
}

/// Those that this program has kernels for.
constexpr bool is_compiled(backend::host::instruction_set set) {
    using backend::host::instruction_set;
#if defined(__x86_64__)
    return set != instruction_set::neon && set != instruction_set::neon_dot;
#elif defined(__aarch64__)
    return set == instruction_set::portable || set == instruction_set::neon || set == instruction_set::neon_dot;
#else
    return set == instruction_set::portable;
#endif
}

}  // namespace

std::string version_text() {
    using backend::host::instruction_set;
    std::string kernels;
    for (const auto set : backend::host::all_instruction_sets) {
        if (set == instruction_set::automatic || !is_compiled(set)) continue;
        kernels.append(kernels.empty() ? "" : ", ").append(name_of(set));
    }
    const auto here = name_of(backend::host::resolve(instruction_set::automatic));
    return "augur " + std::string(version) + "\ncompiler  " + compiler() + ", " + build() + "\nkernels   " + kernels +
           "; on this machine " + std::string(here) + "\ndevices   " + devices() + "\nllama.cpp " +
           llama_cpp_backends();
}

}  // namespace augur::program
