#pragma once
// What a head has learned, on disk. See docs/train/checkpoint.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/state_file.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// A head's numbers, and the moments of the optimizer that goes on from there.
template <class Scalar>
struct checkpoint {
    head_options options;
    std::vector<token> tokens;  ///< of a pruned head; empty: all
    vector<Scalar> values, first, second;
    std::size_t steps = 0, dropped = 0;
    double acceptance = 0;

    /// Throws, with both values, where `head` is of another kind. (The seed is of the past.)
    template <class Head>
    void check(const Head& head, const std::string& origin = "checkpoint") const {
        const auto differ = [&](const char* what, const auto& there, const auto& own) {
            if (there != own) detail::fail(origin, ": its head has ", what, " ", there, ", but here it is ", own);
        };
        const head_options& own = head.options();
        differ("the norm", name_of(options.norm), name_of(own.norm));
        differ("epsilon", options.epsilon, own.epsilon);
        differ("learn_norm", options.learn_norm, own.learn_norm);
        differ("the scale", name_of(options.scale), name_of(own.scale));
        differ("the update", name_of(options.update), name_of(own.update));
        differ("rank", options.rank, own.rank);
        differ("weight_norm", options.weight_norm, own.weight_norm);
        differ("bias", options.bias, own.bias);
        differ("clamp", options.clamp, own.clamp);
        differ("tokens:", tokens.size(), head.tokens().size());
        for (std::size_t i = 0; i < tokens.size(); ++i) differ("the token", tokens[i], head.tokens()[i]);
        for (const auto* each : {&values, &first, &second}) differ("numbers:", each->size(), head.values().size());
    }
};

struct checkpoint_file {
    static constexpr std::string_view kind = "checkpoint";
    static constexpr std::uint32_t version = 1;
    static constexpr std::uint64_t most_numbers = std::uint64_t{1} << 36;

    /// Written beside and renamed: a file of that name stays until the new one is whole, whatever happens. Throws where
    /// the disk is full or does not let it.
    template <class Scalar>
    static void save(const checkpoint<Scalar>& from, const std::filesystem::path& path, const state_identity& whose) {
        state_writer out(path, kind, version);
        out.put(whose);
        out.put(std::uint32_t{sizeof(Scalar)});
        const head_options& o = from.options;
        for (const int each : {static_cast<int>(o.norm), static_cast<int>(o.scale), static_cast<int>(o.update),
                               int{o.learn_norm}, int{o.weight_norm}, int{o.bias}}) {
            out.put(static_cast<std::uint32_t>(each));
        }
        for (const double each : {o.epsilon, o.clamp, from.acceptance}) out.put(each);
        for (const std::size_t each : {o.rank, std::size_t{o.seed}, from.steps, from.dropped}) {
            out.put(std::uint64_t{each});
        }
        out.array(std::span(from.tokens));
        for (const auto* each : {&from.values, &from.first, &from.second}) {
            out.array(std::span<const Scalar>(each->data(), static_cast<std::size_t>(each->size())));
        }
        out.commit();
    }

    /// Throws, with both values, where the file is of another model, depth, size or version, and where it was damaged
    /// or cut short.
    template <class Scalar>
    static checkpoint<Scalar> load(const std::filesystem::path& path, const state_identity& here) {
        state_reader in(path, kind, version);
        in.identity().check(here, in.origin());
        if (const auto bytes = in.get<std::uint32_t>("the size of a number"); bytes != sizeof(Scalar)) {
            detail::fail(in.origin(), ": its numbers have ", bytes, " bytes, but here they have ", sizeof(Scalar));
        }
        const auto choice = [&](const char* what, std::uint32_t most) {
            const auto found = in.get<std::uint32_t>(what);
            if (found > most) detail::fail(in.origin(), ": ", what, " is ", found, "; it is at most ", most);
            return found;
        };
        checkpoint<Scalar> read;
        head_options& o = read.options;
        o.norm = static_cast<norm_kind>(choice("the norm", 2));
        o.scale = static_cast<scale_kind>(choice("the scale", 2));
        o.update = static_cast<update_kind>(choice("the update", 3));
        o.learn_norm = choice("learn_norm", 1) != 0;
        o.weight_norm = choice("weight_norm", 1) != 0;
        o.bias = choice("bias", 1) != 0;
        for (double* each : {&o.epsilon, &o.clamp, &read.acceptance}) *each = in.get<double>("a number");
        std::uint64_t rank = 0, steps = 0, dropped = 0;
        for (std::uint64_t* each : {&rank, &o.seed, &steps, &dropped}) *each = in.get<std::uint64_t>("a count");
        o.rank = static_cast<std::size_t>(rank);
        read.steps = static_cast<std::size_t>(steps);
        read.dropped = static_cast<std::size_t>(dropped);
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
