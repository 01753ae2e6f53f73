// What schemes are worth on a GPU with drafts that are right as often as real ones are: the arithmetic models
// (examples/family/arithmetic) at the cost of larger shapes, made there from the small files
// (widened.hpp). Plain decoding, chains of a draft model by a fixed length and by EAAD's bins, each from
// the host and as one graph; a cascade of three models and trees from the host. All write plain decoding's text.
//
//   bench_schemes --family FOLDER [--shape 8b] [--draft-shape none] [--length 4] [--problems 8] [--tokens 64]
//                 [--repeat 3] [--seed 1] [--json FILE]
//
// The large model is the target, in `--shape`; the medium one drafts, in `--draft-shape` (none: its own); the small one
// drafts for it in the cascade. Problems are drawn from the seed, and schemes take turns on each. Tokens a second are
// those after the prompt, over all problems; the median of `--repeat` turns. Exit code 77 where there is no GPU, 1 if
// a text differs from plain decoding's from the host.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "augur/accept/exact.hpp"
#include "augur/backend/device/cuda_system.hpp"
#include "augur/decode/device/generate.hpp"
#include "augur/decode/device/kernel_bins.hpp"
#include "augur/decode/generate.hpp"
#include "augur/draft/draft_model.hpp"
#include "augur/io/files/gguf.hpp"
#include "augur/llama/gguf_config.hpp"
#include "augur/llama/weights.hpp"
#include "augur/policy/entropy_bins.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/policy/tree_static.hpp"
#include "augur/scheme/cascade.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/types/error.hpp"
#include "../../examples/augur/llama_shape.hpp"
#include "resident_model.hpp"
#include "widened.hpp"

namespace {

using namespace augur;
using namespace augur::benchmarks;

constexpr std::size_t most_drafted = 7;  ///< by graphs: the target's launches are of 8 rows

struct settings {
    std::string family, shape = "8b", draft_shape = "none", json;
    std::size_t length = 4, problems = 8, tokens = 64, repeat = 3, seed = 1;
};

settings read(int argc, char** argv) {
    settings s;
    const options named{
        {{"--family", &s.family}, {"--shape", &s.shape}, {"--draft-shape", &s.draft_shape}, {"--json", &s.json}},
        {{"--length", &s.length},
         {"--problems", &s.problems},
         {"--tokens", &s.tokens},
         {"--repeat", &s.repeat},
         {"--seed", &s.seed}},
        {}};
    named.read(argc, argv);
    if (s.family.empty()) detail::fail("--family lacks: the folder of the arithmetic models");
    if (s.repeat == 0 || s.tokens == 0 || s.problems == 0) {
        detail::fail("--repeat, --tokens and --problems begin at 1");
    }
    if (s.length == 0 || s.length > most_drafted) {
        detail::fail("--length ", s.length, " is not within 1 ... ", most_drafted);
    }
    return s;
}

/// The model of a file, in another shape unless that is "none".
model_type load(const cuda_system& on, const std::filesystem::path& path, const std::string& shape) {
    const io::gguf_file file(path);
    const llama::config c = llama::read_config(file);
    std::vector<std::size_t> layers(c.layers);
    std::iota(layers.begin(), layers.end(), 0u);
    const llama::weights w =
        llama::weight_reader(file, c, llama::gguf_names(), llama::weight_format::f32).read(layers, {});
    if (shape == "none") return model_type(on, c, w);
    const program::llama_shape to = program::parse_shape(shape);
    return model_type(on, widened_config(c, to), make_widened<bfloat16>(on, c, w, to, 1));
}

/// The models' vocabulary: characters.
class characters {
 public:
    explicit characters(const std::filesystem::path& path) {
        const auto texts = io::gguf_file(path).array<std::string>("tokenizer.ggml.tokens");
        for (const std::string& each : texts) {  // as byte-level tokenizers spell them
            all_ += each == "\xc4\xa0" ? ' ' : each == "\xc4\x8a" ? '\n' : each.front();
        }
    }
    token of(char c) const {
        const auto found = all_.find(c);
        if (found == all_.npos) detail::fail("the models have no token for '", c, "'");
        return static_cast<token>(found);
    }
    std::vector<token> encode(const std::string& text) const {
        std::vector<token> out;
        for (const char c : text) out.push_back(of(c));
        return out;
    }
    std::string decode(const std::vector<token>& tokens) const {
        std::string out;
        for (const token id : tokens) out += all_[static_cast<std::size_t>(id)];
        return out;
    }

 private:
    std::string all_;
};

/// As examples/train/arithmetic_problems.py draws them: what is asked, and its answer.
struct problem {
    std::string asked;
    int answer = 0;

    static problem draw(std::mt19937& bits) {
        const auto within = [&](int least, int most) {
            return least + static_cast<int>(bits() % static_cast<unsigned>(most - least + 1));
        };
        int value = within(2, 99);
        std::string text = std::to_string(value);
        for (int i = 0, steps = within(2, 4); i < steps;) {
            const char sign = "+-*"[within(0, 2)];
            const int number = within(2, sign == '*' ? 9 : 99);
            const int result = sign == '+' ? value + number : sign == '-' ? value - number : value * number;
            if (result < 0 || result > 999) continue;
            if (i > 0) text = "(" + text + ")";
            text += sign + std::to_string(number);
            value = result;
            ++i;
        }
        return {text + ":", value};
    }
};

struct models {
    cuda_system on = cuda_system::with_stream();
    model_type target, draft, small;
    resident_type target_there, draft_there;

    explicit models(const settings& s)
        : target(load(on, file(s, "large"), s.shape)),
          draft(load(on, file(s, "medium"), s.draft_shape)),
          small(load(on, file(s, "small"), "none")),
          target_there(target, target.context_length() - most_drafted - 1, most_drafted + 1),
          draft_there(draft, target.context_length() - most_drafted - 1, 2) {}

    static std::filesystem::path file(const settings& s, const char* size) {
        return std::filesystem::path(s.family) / (std::string("arithmetic-") + size + ".gguf");
    }
};

/// Sums over all problems of a turn, and what was written.
struct turn {
    double seconds = 0;
    std::size_t tokens = 0, passes = 0;
    std::vector<std::vector<token>> texts;

    void add(const auto& decoded) {
        seconds += decoded.counts.seconds.decoding();
        tokens += decoded.tokens.size();
        passes += decoded.counts.stages.back().rounds;
        texts.push_back(decoded.tokens);
    }
};

struct scheme_figures {
    std::string name;
    std::vector<double> rates = {};  ///< tokens a second, of each turn
    turn last = {};

    double accepted_length() const {
        return static_cast<double>(last.tokens) / static_cast<double>(std::max<std::size_t>(1, last.passes));
    }
};

class comparison {
 public:
    explicit comparison(const settings& s)
        : settings_(s), of_(s), words_(models::file(s, "large")), bits_(static_cast<std::uint32_t>(s.seed)) {
        for (std::size_t i = 0; i < s.problems; ++i) {
            problems_.push_back(problem::draw(bits_));
            prompts_.push_back(words_.encode(problems_.back().asked));
        }
        options_.sampling.temperature = {0};
        options_.stop.max_tokens = s.tokens;
        options_.stop.stop_tokens = {words_.of('\n')};
    }

    /// Plain decoding from the host first.
    std::vector<scheme_figures> run() {
        using policy::fixed_length;
        const fixed_length ahead{settings_.length};
        const policy::entropy_bins bins;
        const auto looped = [&](const auto& draft, const auto& chosen, std::size_t most) {
            return decode::device::speculation_loop(of_.target_there, draft, chosen, accept::exact{}, options_.sampling,
                                                    most);
        };
        auto plain_loop = looped(of_.target_there, fixed_length{0}, 0);
        auto fixed_loop = looped(of_.draft_there, ahead, settings_.length);
        auto bins_loop = looped(of_.draft_there, decode::device::kernel_bins<>(bins), most_drafted);
        const scheme::model_link first{fixed_length{3}, accept::exact{}}, second{fixed_length{6}, accept::exact{}};
        const auto three = cascaded(of_.small, first, of_.draft, second, of_.target);
        const draft::draft_model branches(of_.draft, draft::argmax{});
        const auto tree = topology::of_paths({{0}, {1}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}, {0, 0, 0, 0}});
        for (std::size_t i = 0; i <= settings_.repeat; ++i) {
            next_ = 0;
            is_warm_ = i > 0;
            from_host("plain, from the host", plain(of_.target));
            as_graph("plain, one graph", plain_loop);
            from_host("chain, from the host", speculate(of_.draft, of_.target, ahead, accept::exact{}));
            as_graph("chain, one graph", fixed_loop);
            from_host("EAAD, from the host", speculate(of_.draft, of_.target, bins, accept::exact{}));
            as_graph("EAAD, one graph", bins_loop);
            from_host("cascade of three, from the host", three);
            from_host("trees, from the host",
                      speculate(branches, of_.target, policy::tree_static(tree), accept::exact{}));
        }
        return found_;
    }

    /// How many of a scheme's texts end with the problem's answer.
    std::size_t right(const scheme_figures& of) const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < problems_.size(); ++i) {
            const std::string text = words_.decode(of.last.texts[i]);
            const auto end = text.find_last_not_of('\n') + 1, begin = text.find_last_of(' ', end) + 1;
            count += text.substr(begin, end - begin) == std::to_string(problems_[i].answer) ? 1 : 0;
        }
        return count;
    }
    const models& family() const { return of_; }

 private:
    void note(const char* name, const turn& taken) {
        if (found_.size() == next_) found_.push_back({name});
        scheme_figures& of = found_[next_++];
        of.last = taken;
        if (is_warm_) of.rates.push_back(static_cast<double>(taken.tokens) / taken.seconds);
    }
    void from_host(const char* name, const auto& scheme) {
        turn taken;
        for (const auto& prompt : prompts_) taken.add(decode::generate(scheme, prompt, options_));
        note(name, taken);
    }
    void as_graph(const char* name, auto& loop) {
        turn taken;
        for (const auto& prompt : prompts_) taken.add(decode::device::generate(loop, prompt, options_, loop_as::whole));
        if (!loop.refusal().empty()) std::fprintf(stderr, "bench_schemes: %s: %s\n", name, loop.refusal().c_str());
        note(name, taken);
    }

    settings settings_;
    models of_;
    characters words_;
    std::mt19937 bits_;
    std::vector<problem> problems_;
    std::vector<std::vector<token>> prompts_;
    decode::options options_;
    std::vector<scheme_figures> found_;
    std::size_t next_ = 0;
    bool is_warm_ = false;
};

std::string json(const settings& s, const machine& m, const comparison& of, const std::vector<scheme_figures>& found) {
    std::ostringstream out;
    const scheme_figures& base = found.front();
    out << "{\"program\": \"bench_schemes\", " << m.json() << ", \"shape\": \"" << s.shape << "\", \"draft_shape\": \""
        << s.draft_shape << "\", \"target_bytes\": " << of.family().target.memory_bytes()
        << ", \"draft_bytes\": " << of.family().draft.memory_bytes() << ", \"length\": " << s.length
        << ", \"problems\": " << s.problems << ", \"tokens\": " << base.last.tokens << ", \"right\": " << of.right(base)
        << ", \"repeat\": " << s.repeat << ", \"seed\": " << s.seed << ", \"schemes\": [";
    for (const scheme_figures& each : found) {
        out << (&each == &base ? "" : ", ") << "{\"name\": \"" << each.name << "\", \"rate\": " << median(each.rates)
            << ", \"speedup\": " << median(each.rates) / median(base.rates)
            << ", \"accepted_length\": " << each.accepted_length()
            << ", \"identical\": " << (each.last.texts == base.last.texts ? "true" : "false") << '}';
    }
    out << "]}\n";
    return out.str();
}

bool run(const settings& s) {
    const machine m = describe(s.repeat);
    m.print();
    comparison of(s);
    const auto found = of.run();
    const scheme_figures& base = found.front();
    std::printf("target of %s, %.2f GB; draft of %s, %.2f GB; %zu problems, %zu tokens, %zu answers right\n",
                s.shape.c_str(), static_cast<double>(of.family().target.memory_bytes()) * 1e-9, s.draft_shape.c_str(),
                static_cast<double>(of.family().draft.memory_bytes()) * 1e-9, s.problems, base.last.tokens,
                of.right(base));
    std::printf("%-34s %10s %10s %10s  %s\n", "scheme", "tokens/s", "of plain", "length", "text");
    bool identical = true;
    for (const scheme_figures& each : found) {
        const bool same = each.last.texts == base.last.texts;
        identical = identical && same;
        std::printf("%-34s %10.1f %10.3f %10.2f  %s\n", each.name.c_str(), median(each.rates),
                    median(each.rates) / median(base.rates), each.accepted_length(), same ? "identical" : "DIFFERENT");
    }
    write_json(s.json, json(s, m, of, found));
    return identical;
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_gpu("bench_schemes", [&] { return run(read(argc, argv)); });
}
