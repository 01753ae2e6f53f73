#pragma once
// Converts the adapter of an exit for a model that was widened from its own. See docs/llama/widened.md.

#include <augur/llama/config.hpp>
#include <augur/train/checkpoint.hpp>
#include <augur/train/head_options.hpp>
#include <augur/train/matrix.hpp>
#include <augur/train/options_format.hpp>
#include <augur/train/state_file.hpp>
#include <augur/types/error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace augur::program {

/// Where the numbers of a head lie among those of a wider one: first in each row and column of their block. All other
/// numbers are zero; weights of the norm are scaled, because its mean is over more numbers.
class head_growth {
 public:
    head_growth(const train::head_options& of, std::size_t classes, std::size_t narrow, std::size_t wide)
        : from_(of, classes, narrow),
          to_(of, classes, wide),
          norm_scale_(std::sqrt(static_cast<double>(narrow) / static_cast<double>(wide))) {}

    std::size_t narrow_size() const { return from_.size; }

    /// Times the scale to this power: 1 of numbers, -1 of gradients by them, -2 of squares of those.
    template <class Scalar>
    train::vector<Scalar> placed(const train::vector<Scalar>& numbers, int power) const {
        train::vector<Scalar> values = train::vector<Scalar>::Zero(detail::index(to_.size));
        const auto from = from_.blocks(), to = to_.blocks();
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (from[i].size() == 0) continue;
            const auto rows = detail::index(from[i].rows), columns = detail::index(from[i].columns);
            train::matrix_of(values, to[i]).topLeftCorner(rows, columns) = train::matrix_of(numbers, from[i]);
        }
        if (from_.norm_weight.size() != 0) {
            train::block(values, to_.norm_weight) *= static_cast<Scalar>(std::pow(norm_scale_, power));
        }
        return values;
    }

    /// Throws unless a head of these options makes the same logits of states with zeros behind.
    static void check(const train::head_options& of, const std::string& origin) {
        const auto refuse = [&](const char* what, const auto& value, const char* why) {
            detail::fail(origin, ": its head cannot be converted for a widened model: ", what, " is ", value, ", and ",
                         why);
        };
        if (of.layer_rank != 0) refuse("layer_rank", of.layer_rank, "it reads what the layer's heads attended to");
        if (of.norm == train::norm_kind::layer) refuse("the norm", name_of(of.norm), "a wider state has another mean");
        if (of.weight_norm) refuse("weight_norm", "on", "rows of a wider matrix have other lengths");
    }

 private:
    train::head_layout from_, to_;
    double norm_scale_;
};

/// The same head on hidden states of `width` numbers, of which the first are those of `whose` and the others zeros, as
/// a widened model makes them: the same logits up to the rounding of sums, and the same gradients by its numbers, so
/// that learning can go on from there. `epsilon`: the wide model's. Throws, with the values, for numbers that are not
/// the head's, a width that is less, an epsilon that was not widened so, and heads for which it cannot hold: norms that
/// subtract a mean, rows of learned lengths, a layer that learns. Cost: O(numbers of the wide head).
template <class Scalar>
train::checkpoint<Scalar> widened(const train::checkpoint<Scalar>& from, const train::state_identity& whose,
                                  std::size_t width, double epsilon, const std::string& origin = "checkpoint") {
    head_growth::check(from.options, origin);
    if (width < whose.width) {
        detail::fail(origin, ": hidden states of ", whose.width, " numbers do not fit into ", width);
    }
    const double expected = from.options.epsilon * static_cast<double>(whose.width) / static_cast<double>(width);
    if (!(std::abs(epsilon - expected) <= 1e-6 * expected)) {
        detail::fail(origin, ": its epsilon ", from.options.epsilon, " becomes ", expected, " where ", whose.width,
                     " numbers become ", width, ", but the model's is ", epsilon);
    }
    const std::size_t classes = from.tokens.empty() ? whose.vocabulary_size : from.tokens.size();
    const head_growth grows(from.options, classes, whose.width, width);
    for (const auto* each : {&from.values, &from.first, &from.second}) {
        if (each->size() == detail::index(grows.narrow_size())) continue;
        detail::fail(origin, ": it has ", each->size(), " parameters, but its head has ", grows.narrow_size());
    }
    train::checkpoint<Scalar> wider = from;
    wider.options.epsilon = epsilon;
    wider.values = grows.placed(from.values, 1);
    wider.first = grows.placed(from.first, -1);
    wider.second = grows.placed(from.second, -2);
    return wider;
}

/// An exit's adapter, as it was learned on a model and as it is for the model that was widened from that.
struct widened_adapter {
    train::state_identity whose;
    train::checkpoint<float> wide;

    /// Reads one of the model with this fingerprint and configuration. Errors: an adapter of another kind, model or
    /// size, or damaged, and those of widened().
    static widened_adapter read(const std::filesystem::path& path, const std::string& fingerprint,
                                const llama::config& narrow, const llama::config& wide) {
        using format = train::options_format<train::head_options>;
        const std::string origin = path.string();
        for (const auto kind : {train::options_format<train::heads_options>::kind,
                                train::options_format<train::attending_options>::kind}) {
            if (!train::is_state_of(path, kind)) continue;
            detail::fail(origin, ": a ", kind, " is not converted for a widened model; an exit's adapter is");
        }
        train::state_reader in(path, format::kind, train::checkpoint_file::version);
        train::state_identity whose = in.identity();
        static_cast<void>(in.get<std::uint32_t>("the size of a number"));
        head_growth::check(format::read(in), origin);
        whose = {fingerprint, whose.layer, narrow.width, narrow.vocabulary};
        const auto kept = train::checkpoint_file::load<float>(path, whose);
        auto grown = widened(kept, whose, wide.width, static_cast<double>(wide.norm_epsilon), origin);
        whose.width = wide.width;
        return {std::move(whose), std::move(grown)};
    }

    /// As the adapter of the model with this fingerprint; see train::checkpoint_file::save.
    void save(const std::filesystem::path& path, const std::string& fingerprint,
              train::unfinished_files* seen = nullptr) const {
        train::state_identity of_wide = whose;
        of_wide.model = fingerprint;
        train::checkpoint_file::save(wide, path, of_wide, seen);
    }
};

}  // namespace augur::program
