"""Makes Llamas of a few thousand weights with a tokenizer of 262 tokens, as GGUF files, from the standard library alone."""

import json
import random
import struct

U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["t h", "th e", "Ġ the"]
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA2 = (
    "{% for message in messages %}{% if message.role == 'user' %}{{ bos_token + '[INST] ' + message.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + message.content + ' ' + eos_token }}{% endif %}{% endfor %}"
)
VOCABULARY = len(SPECIAL) + 256 + len(MERGES)


def byte_letters():
    """GPT-2's alphabet: a printable letter for every byte."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters, others = {}, 0
    for byte in range(256):
        if byte in plain:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(256 + others)
            others += 1
    return [letters[byte] for byte in range(256)]


def text(value):
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def value(kind, content):
    if kind == STRING:
        return text(content)
    return struct.pack({U32: "<I", F32: "<f", BOOL: "<?", I32: "<i"}[kind], content)


def pair(key, kind, content):
    return text(key) + struct.pack("<I", kind) + value(kind, content)


def array(key, kind, items):
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(items)) + b"".join(value(kind, item) for item in items)


def tokenizer(chat_template, swapped=None):
    """`swapped`: two ids that change places."""
    tokens = SPECIAL + byte_letters() + [merge.replace(" ", "") for merge in MERGES]
    if swapped:
        one, other = swapped
        tokens[one], tokens[other] = tokens[other], tokens[one]
    pairs = [
        pair("tokenizer.ggml.model", STRING, "gpt2"),
        pair("tokenizer.ggml.pre", STRING, "gpt-2"),
        array("tokenizer.ggml.tokens", STRING, tokens),
        array("tokenizer.ggml.token_type", I32, [CONTROL if token in SPECIAL else NORMAL for token in tokens]),
        array("tokenizer.ggml.merges", STRING, MERGES),
        pair("tokenizer.ggml.bos_token_id", U32, 1),
        pair("tokenizer.ggml.eos_token_id", U32, 2),
        pair("tokenizer.ggml.add_bos_token", BOOL, False),
    ]
    return pairs + ([pair("tokenizer.chat_template", STRING, chat_template)] if chat_template else [])


def sentencepiece(words=256, chat_template=None):
    """The same of a SentencePiece tokenizer: every byte, and words: their texts, or so many that begin with a space, of which there are
    `sentencepiece_size(words)` tokens in all. The bytes have the ids that they have in `tokenizer`."""
    texts = [f"▁{i}" for i in range(words)] if isinstance(words, int) else words
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *texts]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(texts)]
    pairs = [
        pair("tokenizer.ggml.model", STRING, "llama"),
        array("tokenizer.ggml.tokens", STRING, tokens),
        array("tokenizer.ggml.token_type", I32, kinds),
        array("tokenizer.ggml.scores", F32, [-float(i) for i in range(len(tokens))]),
        pair("tokenizer.ggml.bos_token_id", U32, 1),
        pair("tokenizer.ggml.eos_token_id", U32, 2),
        pair("tokenizer.ggml.unknown_token_id", U32, 0),
    ]
    return pairs + ([pair("tokenizer.chat_template", STRING, chat_template)] if chat_template else [])


def sentencepiece_size(words=256):
    return 3 + 256 + words


def block(width, head_size, feed_forward):
    return {
        "attn_norm": (width,),
        "attn_q": (width, width),
        "attn_k": (width, 2 * head_size),
        "attn_v": (width, 2 * head_size),
        "attn_output": (width, width),
        "ffn_norm": (width,),
        "ffn_gate": (width, feed_forward),
        "ffn_up": (width, feed_forward),
        "ffn_down": (feed_forward, width),
    }


def random_tensors(shapes, seed, width):
    """Ones for vectors, else normal numbers; a dictionary of (shape, numbers)."""
    dice, tensors = random.Random(seed), {}
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        tensors[name] = shape, [1.0] * count if len(shape) == 1 else [dice.gauss(0, 1 / width**0.5) for _ in range(count)]
    return tensors


def save(path, pairs, tensors):
    directory, data = b"", b""
    for name, (shape, numbers) in tensors.items():
        directory += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        directory += struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{len(numbers)}f", *numbers)
        data += b"\0" * (-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + directory
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32) + data)
    return str(path)


def fingerprint(tensors):
    """What tells models apart: FNV-1a of names, types, shapes and the ends of the data."""
    state = 0xCBF29CE484222325
    for name, (shape, numbers) in tensors.items():
        data = struct.pack(f"<{len(numbers)}f", *numbers)
        for byte in name.encode() + struct.pack(f"<I{len(shape)}Q", 0, *shape) + data[:4096] + data[-4096:]:
            state = (state ^ byte) * 0x100000001B3 % 2**64
    return f"{state:016x}"


def architecture(layers, width, context):
    return [
        pair("general.architecture", STRING, "llama"),
        pair("llama.block_count", U32, layers),
        pair("llama.embedding_length", U32, width),
        pair("llama.attention.head_count", U32, 4),
        pair("llama.attention.head_count_kv", U32, 2),
        pair("llama.feed_forward_length", U32, 2 * width),
        pair("llama.context_length", U32, context),
        pair("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
    ]


def model_tensors(seed, layers, width, vocabulary):
    shapes = {"token_embd.weight": (width, vocabulary), "output_norm.weight": (width,)}
    for layer in range(layers):
        shapes.update({f"blk.{layer}.{name}.weight": shape for name, shape in block(width, width // 4, 2 * width).items()})
    return random_tensors(shapes, seed, width)


def write_checkpoint(path, kind, target, *, width=32, context=256, head_tokens=None):
    """A member of the family of a target with this fingerprint: eagle, medusa, hydra, draft, exit or qualifier."""
    shapes = {}
    if kind in ("eagle", "draft"):
        shapes = {f"blk.0.{name}.weight": shape for name, shape in block(width, width // 4, 2 * width).items()}
        shapes["output_norm.weight"] = (width,)
    if kind == "eagle":
        shapes["augur.fusion.weight"] = (2 * width, width)
        shapes["augur.fusion.hidden_norm.weight"] = (width,)
    for head in range(3 if kind in ("medusa", "hydra") else 0):
        shapes[f"augur.head.{head}.weight"] = (width * (head + 2 if kind == "hydra" else 1), width)
        shapes[f"augur.head.{head}.bias"] = (width,)
    if kind == "exit":
        shapes = {f"augur.exit.1.{name}.weight": shape for name, shape in (("norm", (width,)), ("down", (width, 2)), ("up", (2, width)))}
        shapes["augur.exit.1.scale"] = (1,)
    if kind == "qualifier":
        shapes["output_norm.weight"] = (width,)
        for name, shape in block(width, width // 4, 2 * width).items():
            if len(shape) == 1:
                shapes[f"blk.0.{name}.weight"] = shape
            else:
                shapes[f"blk.0.{name}.delta_down.weight"], shapes[f"blk.0.{name}.delta_up.weight"] = (shape[0], 2), (2, shape[1])
    has_shape = kind in ("eagle", "draft", "qualifier")  # the others' is their target's
    pairs = (architecture(1, width, context) if has_shape else []) + [
        pair("augur.member", STRING, kind),
        pair("augur.target.name", STRING, "a tiny one"),
        pair("augur.target.fingerprint", STRING, target),
    ]
    if kind == "exit":
        pairs.append(array("augur.exits", I32, [1]))
    if kind == "qualifier":
        pairs.append(array("augur.layers", I32, [0]))
    if head_tokens:
        pairs.append(array("augur.head.tokens", I32, head_tokens))
    return save(path, pairs, random_tensors(shapes, 7, width))


def write(path, *, seed=1, layers=1, width=32, context=256, vocabulary=VOCABULARY, words=True, chat_template=CHATML, spoil=None, swapped=None):
    """`words`: whether there is a tokenizer, or the pairs of another. A larger `vocabulary` has rows that it has no tokens for. `spoil`: a
    value that the last weight of the final norm is replaced by. `swapped`: two ids whose texts change places."""
    tensors = model_tensors(seed, layers, width, vocabulary)
    if spoil is not None:
        tensors["output_norm.weight"][1][-1] = spoil
    own = tokenizer(chat_template, swapped) if words is True else words or []
    return save(path, architecture(layers, width, context) + own, tensors)


FOLDER_NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
                "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
                "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}  # fmt: skip


def folder_name(name):
    if not name.startswith("blk."):
        return {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}[name]
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{FOLDER_NAMES[part]}.weight"


def write_folder(path, *, seed=1, layers=1, width=32, context=256, vocabulary=VOCABULARY):
    """The same kind of model as a folder of safetensors, without a tokenizer."""
    path.mkdir()
    config = {"model_type": "llama", "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": 4, "num_key_value_heads": 2,
              "intermediate_size": 2 * width, "max_position_embeddings": context, "rms_norm_eps": 1e-5, "vocab_size": vocabulary,
              "tie_word_embeddings": True}  # fmt: skip
    (path / "config.json").write_text(json.dumps(config))
    tensors = {folder_name(name): tensor for name, tensor in model_tensors(seed, layers, width, vocabulary).items()}
    save_safetensors(path / "model.safetensors", tensors)
    return str(path)


def write_mimo(path, *, seed=1, layers=2, width=32, context=256, vocabulary=VOCABULARY, said=1, **changes):
    """A MiMo as a folder of safetensors, without a tokenizer, with one layer for multi-token prediction; `said`: how many config.json says."""
    write_folder(path, seed=seed, layers=layers, width=width, context=context, vocabulary=vocabulary)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"model_type": "mimo", "num_nextn_predict_layers": said} | changes))
    shapes = {folder_name(name): shape for name, (shape, _) in model_tensors(seed, layers, width, vocabulary).items()}
    prefix = "model.mtp_layers.0."
    shapes |= {name.replace("model.layers.0.", prefix): shape for name, shape in shapes.items() if ".layers.0." in name}
    for name, shape in list(shapes.items()):
        if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight")):
            shapes[name.replace("weight", "bias")] = shape[1:]
    shapes |= {f"{prefix}{norm}_layernorm.weight": (width,) for norm in ("token", "hidden", "final")}
    shapes[prefix + "input_proj.weight"] = (2 * width, width)
    save_safetensors(path / "model.safetensors", random_tensors(shapes, seed, width))
    return str(path)


def save_safetensors(path, tensors, integers=()):
    """Of F32 tensors, each its shape, the innermost size first, and its numbers; and lists of I64."""
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        stored = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape[::-1], "data_offsets": [len(data), len(data) + len(stored)]}
        data += stored
    for name in integers:
        stored = struct.pack(f"<{len(integers[name])}q", *integers[name])
        header[name] = {"dtype": "I64", "shape": [len(integers[name])], "data_offsets": [len(data), len(data) + len(stored)]}
        data += stored
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def write_published_eagle(path, *, width=32, vocabulary=VOCABULARY, taps=(0, 1), kept=range(0, VOCABULARY, 2), **said):
    """An EAGLE-3 layer as its authors publish it, in a folder; without `taps`, an EAGLE-1 layer, which has the target's head."""
    path.mkdir()
    config = {"model_type": "llama", "hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
              "intermediate_size": 2 * width, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "vocab_size": vocabulary}  # fmt: skip
    prefix, integers = ("midlayer" if taps else "layers.0"), {}
    shapes = {f"{prefix}.{FOLDER_NAMES[name]}.weight": shape for name, shape in block(width, width // 4, 2 * width).items()}
    shapes["fc.weight"] = (width * (len(taps) if taps else 2), width)
    if taps:
        config |= {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": len(kept), "eagle_aux_hidden_state_layer_ids": taps}
        for name in ("q", "k", "v"):
            inputs, outputs = shapes[f"midlayer.self_attn.{name}_proj.weight"]
            shapes[f"midlayer.self_attn.{name}_proj.weight"] = (2 * inputs, outputs)
        shapes |= {"midlayer.hidden_norm.weight": (width,), "norm.weight": (width,), "lm_head.weight": (width, len(kept))}
        integers["d2t"] = [token - i for i, token in enumerate(kept)]
    else:
        del shapes["layers.0.input_layernorm.weight"]
    (path / "config.json").write_text(json.dumps(config | said))
    save_safetensors(path / "model.safetensors", random_tensors(shapes, 11, width), integers)
    return str(path)


def write_published_heads(path, kind, *, heads=3, width=32, vocabulary=VOCABULARY, prefix_embeding_layer=False):
    """Heads as Medusa's or Hydra's authors publish them."""
    shapes = {}
    for n in range(heads):
        if kind == "medusa":
            shapes.update({f"medusa_head.{n}.0.linear.weight": (width, width), f"medusa_head.{n}.0.linear.bias": (width,)})
            shapes[f"medusa_head.{n}.1.weight"] = (width, vocabulary)
        else:
            for name in ("linear", "res_connection"):
                shapes.update({f"hydra_mlp.{n}.0.{name}.weight": (width * (n + 2), width), f"hydra_mlp.{n}.0.{name}.bias": (width,)})
            shapes.update({f"hydra_lm_head.{n}.weight": (width, vocabulary), f"hydra_lm_head.{n}.bias": (vocabulary,)})
    if prefix_embeding_layer:
        layer = block(width, width // 4, 2 * width)
        shapes |= {f"prefix_embeding_layer.layers.0.{FOLDER_NAMES[name]}.weight": shape for name, shape in layer.items()}
        shapes["prefix_embeding_layer.norm.weight"] = (width,)
    return save_safetensors(path, random_tensors(shapes, 9, width))
