// augur widen: a model's text at the cost of a larger one, as a file.

#include <augur/llama/write_widened.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "message.hpp"
#include "models.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "terminal.hpp"

namespace augur::program {
namespace {

struct widen_options {
    std::string model, shape, weights = "keep", output;
};

void widen(const widen_options& chosen) {
    const llama::shape to = llama::parse_shape(chosen.shape);
    const llama::weight_format format = parse_weights(chosen.weights);
    check_output("--output", chosen.output, {chosen.model});
    if (io::holds_safetensors(chosen.model)) {
        detail::fail("augur widen writes from GGUF files; ", chosen.model, " holds safetensors, which --shape widens");
    }
    const io::gguf_file file(chosen.model);
    output_file out(chosen.output);
    std::uint64_t written = 0;
    {
        const interruption stop;
        const passing_note note("writing ...");
        llama::write_widened(file, to, format, [&](std::span<const std::byte> bytes) {
            interruption::check();
            out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
            written += bytes.size();
        });
    }
    out.commit();
    tell("note", chosen.output, ": ", written, " bytes; the text of ", chosen.model, " at the cost of ", to.text());
}

}  // namespace

void add_widen(CLI::App& program) {
    auto* command = program.add_subcommand(
        "widen", "Write a model in a larger shape: the same text, up to rounding, at the cost of that size");
    const auto chosen = std::make_shared<widen_options>();
    command->add_option("-m,--model", chosen->model, "The model: a GGUF file")->type_name("FILE")->required();
    command
        ->add_option("--shape", chosen->shape,
                     "360m, 1b, 3b, 8b or width,feed_forward,heads,key_value_heads,head_size,layers")
        ->type_name("SHAPE")
        ->required();
    command->add_option("--weights", chosen->weights, "How matrices are stored: as --weights of generate")
        ->type_name("FORMAT")
        ->default_str(chosen->weights);
    command->add_option("--output", chosen->output, "The file to write")->type_name("FILE")->required();
    command->callback([chosen] { widen(*chosen); });
}

}  // namespace augur::program
