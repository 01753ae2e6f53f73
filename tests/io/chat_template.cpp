#include <augur/io/chat_template.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_chat_template)

using namespace augur::io;
using augur::testing::says;

namespace {

using chat = std::vector<chat_message>;

// As SmolLM2 and Qwen 2 have it, and without a message of its own.
const std::string smollm2 =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + "
    "message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}";
const std::string chatml =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
// As Llama 2 has it, down to what it is recognised by.
const std::string llama2 =
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{{ bos_token + "
    "'[INST] ' + content.strip() + ' [/INST]' }}{{ ' '  + content.strip() + ' ' + eos_token }}";
const std::string llama3 =
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + "
    "'<|eot_id|>' %}";
const std::string zephyr =
    "{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif "
    "message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}";

const chat question = {{"user", "Hi"}};
const chat dialogue = {{"system", "Be brief."}, {"user", " Hi \n"}, {"assistant", " Hello. "}, {"user", "Bye"}};

}  // namespace

BOOST_AUTO_TEST_CASE(chatml_renders) {
    const chat_template layout(chatml);
    BOOST_TEST((layout.format() == chat_format::chatml));
    BOOST_TEST(layout.default_system() == "");
    BOOST_TEST(layout.render(question) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    BOOST_TEST(layout.render(question, false) == "<|im_start|>user\nHi<|im_end|>\n");
    BOOST_TEST(layout.render(dialogue) ==
               "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi \n<|im_end|>\n<|im_start|>assistant\n"
               " Hello. <|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
}

BOOST_AUTO_TEST_CASE(a_default_system_message_is_honoured) {
    const chat_template layout(smollm2);
    BOOST_TEST(layout.default_system() == "You are a helpful AI assistant named SmolLM, trained by Hugging Face");
    BOOST_TEST(layout.render(question) ==
               "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
               "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    BOOST_TEST(layout.render(dialogue) == chat_template(chatml).render(dialogue));
}

BOOST_AUTO_TEST_CASE(default_system_messages_are_literals) {
    const auto found = [](const std::string& source) { return chat_template(source).default_system(); };
    BOOST_TEST(found("{{- '<|im_start|>system\\nYou\\'re \\\"Q\\\".\\nHelp.<|im_end|>\\n' }}") ==
               "You're \"Q\".\nHelp.");
    BOOST_TEST(found("{{ '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}") == "");
    BOOST_TEST(found("{{ '<|im_start|>system\\n' }}{{ x }}{{ '<|im_end|>' }}") == "");
    BOOST_TEST(found("{{ '<|im_start|>system\\nHi ' + name + '<|im_end|>' }}") == "");
    BOOST_TEST(found("{{ '<|im_start|>system\\n<|im_end|>' }}") == "");
    BOOST_TEST(found("{{ '<|im_start|>system\\nnever closed' }}") == "");
    // The first is the branch for conversations that bring a system message.
    BOOST_TEST(found("{{ '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}{% else %}"
                     "{{ '<|im_start|>system\\nDefault.<|im_end|>\\n' }}") == "Default.");
}

BOOST_AUTO_TEST_CASE(llama2_renders) {
    const chat_template layout(llama2);
    BOOST_TEST((layout.format() == chat_format::llama2));
    BOOST_TEST(layout.render(question) == "[INST] Hi [/INST]");
    BOOST_TEST(layout.render(dialogue) ==
               "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Hello. </s><s>[INST] Bye [/INST]");
    BOOST_CHECK_EXCEPTION(layout.render(chat{{"user", "a"}, {"user", "b"}}), augur::error,
                          says({"message 1", "'user'", "'assistant'"}));
    BOOST_CHECK_EXCEPTION(layout.render(chat{{"assistant", "a"}}), augur::error, says({"message 0", "'user'"}));
    BOOST_CHECK_EXCEPTION(layout.render(chat{{"system", "a"}}), augur::error, says({"needs a user message"}));
}

BOOST_AUTO_TEST_CASE(llama3_renders) {
    const chat_template layout(llama3);
    BOOST_TEST((layout.format() == chat_format::llama3));
    BOOST_TEST(layout.render(dialogue) ==
               "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user"
               "<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>"
               "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant"
               "<|end_header_id|>\n\n");
    BOOST_TEST(layout.render(chat{{"user", " \n"}}, false) == "<|start_header_id|>user<|end_header_id|>\n\n<|eot_id|>");
}

BOOST_AUTO_TEST_CASE(later_llama3_dates_itself) {
    const chat_template layout(llama3 + "{{- \"Cutting Knowledge Date: December 2023\\n\" }}");
    const std::string dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
    BOOST_TEST(layout.render(question, false) == "<|start_header_id|>system<|end_header_id|>\n\n" + dates +
                                                     "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi"
                                                     "<|eot_id|>");
    BOOST_TEST(layout.render(chat{{"system", " S "}, {"user", "Hi"}}, false) ==
               "<|start_header_id|>system<|end_header_id|>\n\n" + dates +
                   "S<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>");
}

BOOST_AUTO_TEST_CASE(zephyr_renders) {
    const chat_template layout(zephyr);
    BOOST_TEST((layout.format() == chat_format::zephyr));
    BOOST_TEST(layout.render(dialogue) ==
               "<|system|>\nBe brief.</s>\n<|user|>\n Hi \n</s>\n<|assistant|>\n Hello. </s>\n<|user|>\nBye</s>\n"
               "<|assistant|>\n");
    const chat_template stable("{{ '<|user|>\n' + message['content'] + '<|endoftext|>' }}");
    BOOST_TEST(stable.render(question) == "<|user|>\nHi<|endoftext|>\n<|assistant|>\n");
}

BOOST_AUTO_TEST_CASE(end_of_turn_texts_are_the_models) {
    auto words = augur::testing::sentencepiece_words();
    words.texts[2] = "<end>";
    words.chat_template = zephyr;
    BOOST_TEST(chat_template(words).render(question, false) == "<|user|>\nHi<end>\n");
}

BOOST_AUTO_TEST_CASE(unknown_templates_are_refused_with_how_they_start) {
    BOOST_CHECK_EXCEPTION(chat_template("{{ '<start_of_turn>user' }}"), augur::error,
                          says({"<start_of_turn>", "chatml", "llama2", "llama3", "zephyr"}));
    BOOST_CHECK_EXCEPTION(chat_template(""), augur::error, says({"no chat template"}));
    BOOST_CHECK_EXCEPTION(chat_template{augur::testing::byte_level_words()}, augur::error, says({"no chat template"}));
    // Look-alikes: Mistral has no <<SYS>>, Phi 3 ends turns with <|end|>, Phi 4 has <|im_sep|>, SmolVLM no <|im_end|>.
    for (const auto* source : {"[INST] x [/INST]", "<|user|>\n<|end|><|assistant|><|endoftext|>",
                               "<|im_start|>user<|im_sep|>", "<|im_start|>User: x<end_of_utterance>"}) {
        BOOST_CHECK_THROW(chat_template{source}, augur::error);
    }
}

BOOST_AUTO_TEST_CASE(conversations_that_make_no_sense_are_refused) {
    const chat_template layout(chatml);
    BOOST_CHECK_EXCEPTION(layout.render(chat{}), augur::error, says({"0 messages"}));
    BOOST_CHECK_EXCEPTION(layout.render(chat{{"user", "a"}, {"robot", "b"}}), augur::error,
                          says({"message 1", "'robot'", "'assistant'"}));
}

/// Each of these was quadratic in its size.
BOOST_AUTO_TEST_CASE(hostile_templates_take_no_time) {
    const auto repeated = [](std::string_view text) {
        std::string all;
        while (all.size() + text.size() + 20 < augur::io::longest_chat_template) all += text;
        return all;
    };
    for (const auto* part : {"<|im_start|>system", "<|im_start|>system\n", "<|im_start|>system\\n", "<|im_start|>"}) {
        BOOST_TEST(chat_template(repeated(part)).default_system() == "");
    }
    BOOST_TEST(chat_template(repeated("<|im_start|>system\n") + "x<|im_end|>").default_system() == "x");
    BOOST_TEST(chat_template(repeated("<|im_start|>system\n' +") + "<|im_end|>").default_system() == "");
    const std::string large(augur::io::longest_chat_template + 1, 'x');
    BOOST_CHECK_EXCEPTION(chat_template{large}, augur::error, says({"1048577 bytes", "the 1048576 that"}));
}

BOOST_AUTO_TEST_CASE(formats_have_names) {
    BOOST_TEST(name_of(chat_format::chatml) == "chatml");
    BOOST_TEST(name_of(chat_format::zephyr) == "zephyr");
}

BOOST_AUTO_TEST_SUITE_END()
