#pragma once
// Serializes the options of a head for checkpoints.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "augur/train/head_options.hpp"
#include "augur/train/heads_options.hpp"
#include "augur/train/state_file.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// Define for the options of another Trainable: `kind`, what its files say they are; write(out, options); read(in);
/// and check(there, own, origin), which throws with both values where a head of `own` cannot take the numbers of one of
/// `there`.
template <class Options>
struct options_format;

/// Throws, with both values, where the head of a checkpoint has another than one's own.
class same_head {
 public:
    explicit same_head(const std::string& origin) : origin_(&origin) {}
    void operator()(const char* what, const auto& there, const auto& own) const {
        if (there != own) detail::fail(*origin_, ": its head has ", what, " ", there, ", but here it is ", own);
    }

 private:
    const std::string* origin_;
};

template <>
struct options_format<head_options> {
    static constexpr std::string_view kind = "checkpoint";

    static void write(state_writer& out, const head_options& o) {
        for (const int each : {static_cast<int>(o.norm), static_cast<int>(o.scale), static_cast<int>(o.update),
                               int{o.learn_norm}, int{o.weight_norm}, int{o.bias}}) {
            out.put(static_cast<std::uint32_t>(each));
        }
        for (const double each : {o.epsilon, o.clamp}) out.put(each);
        for (const std::size_t each : {o.rank, o.layer_rank, std::size_t{o.seed}}) out.put(std::uint64_t{each});
    }
    static head_options read(state_reader& in) {
        head_options o;
        o.norm = static_cast<norm_kind>(in.choice("the norm", 2));
        o.scale = static_cast<scale_kind>(in.choice("the scale", 2));
        o.update = static_cast<update_kind>(in.choice("the update", 3));
        o.learn_norm = in.choice("learn_norm", 1) != 0;
        o.weight_norm = in.choice("weight_norm", 1) != 0;
        o.bias = in.choice("bias", 1) != 0;
        for (double* each : {&o.epsilon, &o.clamp}) *each = in.get<double>("a number");
        o.rank = static_cast<std::size_t>(in.get<std::uint64_t>("the rank"));
        o.layer_rank = static_cast<std::size_t>(in.get<std::uint64_t>("the layer's rank"));
        o.seed = in.get<std::uint64_t>("the seed");
        return o;
    }
    /// (The seed is of the past.)
    static void check(const head_options& there, const head_options& own, const std::string& origin) {
        const same_head differ(origin);
        differ("the norm", name_of(there.norm), name_of(own.norm));
        differ("epsilon", there.epsilon, own.epsilon);
        differ("learn_norm", there.learn_norm, own.learn_norm);
        differ("the scale", name_of(there.scale), name_of(own.scale));
        differ("the update", name_of(there.update), name_of(own.update));
        differ("rank", there.rank, own.rank);
        differ("layer_rank", there.layer_rank, own.layer_rank);
        differ("weight_norm", there.weight_norm, own.weight_norm);
        differ("bias", there.bias, own.bias);
        differ("clamp", there.clamp, own.clamp);
    }
};

template <>
struct options_format<attending_options> {
    static constexpr std::string_view kind = "checkpoint of a head that attends";

    static void write(state_writer& out, const attending_options& o) {
        options_format<head_options>::write(out, o);
        out.put(std::uint64_t{o.attention_rank});
    }
    static attending_options read(state_reader& in) {
        attending_options o{options_format<head_options>::read(in)};
        o.attention_rank = static_cast<std::size_t>(in.get<std::uint64_t>("the attention's rank"));
        return o;
    }
    static void check(const attending_options& there, const attending_options& own, const std::string& origin) {
        options_format<head_options>::check(there, own, origin);
        const same_head differ(origin);
        differ("attention_rank", there.attention_rank, own.attention_rank);
    }
};

template <>
struct options_format<heads_options> {
    static constexpr std::string_view kind = "checkpoint of draft heads";

    static void write(state_writer& out, const heads_options& o) {
        out.put(std::uint64_t{o.heads});
        out.put(std::uint32_t{o.see_tokens});
    }
    static heads_options read(state_reader& in) {
        heads_options o;
        o.heads = static_cast<std::size_t>(in.get<std::uint64_t>("the number of heads"));
        o.see_tokens = in.choice("whether heads see tokens", 1) != 0;
        return o;
    }
    static void check(const heads_options& there, const heads_options& own, const std::string& origin) {
        const same_head differ(origin);
        differ("heads:", there.heads, own.heads);
        differ("see_tokens", there.see_tokens, own.see_tokens);
    }
};

}  // namespace augur::train
