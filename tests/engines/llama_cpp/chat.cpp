#include "augur/engines/llama_cpp/chat.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engines/tiny_engines.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_chat)

namespace {

llama_cpp::tokenizer words_with(const std::string& chat_template) {
    tiny_gguf file;
    file.has_words = true;
    file.chat_template = chat_template;
    return llama_cpp::tokenizer(tiny_weights(file));
}

const std::vector<io::chat_message> talk{{"system", "Be brief."}, {"user", std::string(400, 'x')}};
const std::string chatml =
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

}  // namespace

BOOST_AUTO_TEST_CASE(a_template_that_llama_cpp_knows_is_rendered_by_it) {
    const auto words = words_with(chatml);
    const std::string text = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n" + std::string(400, 'x') +
                             "<|im_end|>\n<|im_start|>assistant\n";
    BOOST_TEST(llama_cpp::render_chat(words, talk) == text);
    BOOST_TEST(llama_cpp::render_chat(words, talk) == io::chat_template(chatml).render(talk));
    BOOST_TEST(!llama_cpp::render_chat(words, talk, {.add_generation_prompt = false}).ends_with("assistant\n"));
}

BOOST_AUTO_TEST_CASE(another_is_rendered_by_augur) {
    const auto words = words_with(
        "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content | length }};{% endfor %}{{ eos_token }}");
    BOOST_TEST(llama_cpp::render_chat(words, talk) == "<s>system: 9;user: 400;</s>");
    const auto tools = words_with(chatml + "{% if tools %}{{ tools | length }} tools{% endif %}");
    BOOST_TEST(llama_cpp::render_chat(tools, talk, {.tools = {{{"name", "look"}}}}).ends_with("1 tools"));
}

BOOST_AUTO_TEST_CASE(without_a_template_it_is_refused) {
    BOOST_CHECK_EXCEPTION(llama_cpp::render_chat(words_with(""), talk), error, says({"no chat template"}));
    BOOST_CHECK_EXCEPTION(llama_cpp::render_chat(words_with("{% nonsense %}"), talk), error, says({"nonsense"}));
}

BOOST_AUTO_TEST_SUITE_END()
