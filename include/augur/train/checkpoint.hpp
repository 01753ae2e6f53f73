#pragma once
// Saves and loads the parameters of a trained head. See docs/train/checkpoint.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/options_format.hpp"
#include "augur/train/schedule.hpp"
#include "augur/train/state_file.hpp"
#include "augur/train/training_example.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// A head's numbers, and the moments of the optimizer that goes on from there.
template <class Scalar, class Options = head_options>
struct checkpoint {
    Options options;
    std::vector<token> tokens;  ///< of a pruned head; empty: all
    vector<Scalar> values, first, second;
    std::size_t steps = 0, dropped = 0, waiting = 0;  ///< waiting: committed tokens since the last update
    std::size_t served = 0;                           ///< tokens committed since the first run began
    reward_average rewards{};

    /// At the last update.
    progress then() const { return {steps, served - std::min(waiting, served), rewards.baseline}; }

    /// Throws, with both values, where `head` is of another kind.
    template <class Head>
    void check(const Head& head, const std::string& origin = "checkpoint") const {
        options_format<Options>::check(options, head.options(), origin);
        const same_head differ(origin);
        differ("tokens:", tokens.size(), head.tokens().size());
        for (std::size_t i = 0; i < tokens.size(); ++i) differ("the token", tokens[i], head.tokens()[i]);
        for (const auto* each : {&values, &first, &second}) differ("numbers:", each->size(), head.values().size());
    }
};

struct checkpoint_file {
    static constexpr std::uint32_t version = 6;
    static constexpr std::uint64_t most_numbers = std::uint64_t{1} << 36;

    /// Written beside and renamed: a file of that name stays until the new one is whole, whatever happens. Throws where
    /// the disk is full or does not let it. `seen` creates the file beside.
    template <class Scalar, class Options>
    static void save(const checkpoint<Scalar, Options>& from, const std::filesystem::path& path,
                     const state_identity& whose, unfinished_files* seen = nullptr) {
        state_writer out(path, options_format<Options>::kind, version, seen);
        out.put(whose);
        out.put(std::uint32_t{sizeof(Scalar)});
        options_format<Options>::write(out, from.options);
        for (const double each : {from.rewards.acceptance, from.rewards.baseline}) out.put(each);
        for (const std::size_t each : {from.steps, from.dropped, from.waiting, from.served, from.rewards.drawn}) {
            out.put(std::uint64_t{each});
        }
        out.put(std::uint32_t{from.rewards.above});
        out.array(std::span(from.tokens));
        for (const auto* each : {&from.values, &from.first, &from.second}) {
            out.array(std::span<const Scalar>(each->data(), static_cast<std::size_t>(each->size())));
        }
        out.commit();
    }

    /// Throws, with both values, where the file is of another kind of head, model, depth, size or version, and where it
    /// was damaged or cut short.
    template <class Scalar, class Options = head_options>
    static checkpoint<Scalar, Options> load(const std::filesystem::path& path, const state_identity& here) {
        state_reader in(path, options_format<Options>::kind, version);
        in.identity().check(here, in.origin());
        if (const auto bytes = in.get<std::uint32_t>("the size of a number"); bytes != sizeof(Scalar)) {
            detail::fail(in.origin(), ": its parameters have ", bytes, " bytes, but here they have ", sizeof(Scalar));
        }
        checkpoint<Scalar, Options> read;
        read.options = options_format<Options>::read(in);
        read.rewards.acceptance = in.get<double>("the acceptance");
        read.rewards.baseline = in.get<double>("the baseline");
        read.steps = static_cast<std::size_t>(in.get<std::uint64_t>("the steps"));
        read.dropped = static_cast<std::size_t>(in.get<std::uint64_t>("the updates that were dropped"));
        read.waiting = static_cast<std::size_t>(in.get<std::uint64_t>("the tokens since the last update"));
        read.served = static_cast<std::size_t>(in.get<std::uint64_t>("the tokens since the first run began"));
        read.rewards.drawn = static_cast<std::size_t>(in.get<std::uint64_t>("the positions since the head changed"));
        read.rewards.above = in.choice("whether acceptance is above its band", 1) != 0;
        in.array(read.tokens, here.vocabulary_size, "tokens");
        for (auto* each : {&read.values, &read.first, &read.second}) in.array(*each, most_numbers, "numbers");
        in.finish();
        if (!read.values.allFinite() || !read.first.allFinite() || !read.second.allFinite()) {
            detail::fail(in.origin(), ": it holds a NaN or an infinity");
        }
        return read;
    }
};

}  // namespace augur::train
