#!/usr/bin/env python3
"""Writes tests/data/io/families.json: small vocabularies of each family's kind, texts, and the ids of Hugging Face's tokenizers.

    make_small.py FOLDER    with the packages that beside_oracles.py takes

Byte-level families share the first merges of Llama 3, the others the best pieces of Mistral v1; pattern, normalizer, flags and special
tokens are each family's own.
"""

import json
import pathlib
import sys

import families
import texts

WHERE = pathlib.Path(__file__).resolve().parents[1] / "data/io/families.json"
MERGES, PIECES, COUNT = 300, 260, 16
FIXED = [
    "", " ", "\n", "Hello, World! I'm 12345 y'ALL'S", "CamelCaseXMLHttp\u0416\u0436\u01c5\u02b0a", "  x\r\n\n\t y \u3000\u2003z ", "e\u0301 \u212b \u1112\u1161\u11ab q\u0323\u0307",
    "\u0939\u093f\u0928\u094d\u0926\u0940 a/b//\n/c ...//\r\n", "\u2167\u00b2\u0663 1234567", "the <|a|>  \n the<b> \n<|a|><b>\u00a0x", "\u2581 \u2581a  a\u2581", "\U0001F468\u200d\U0001F469 \u017f's",
]
SPECIALS = ("<|a|>", "<b>")


def byte_level(package):
    full = families.from_gguf(package.llama_cpp("llama-bpe"), None).json["model"]
    vocabulary = {letter: i for i, letter in enumerate(families.ALPHABET.values())}
    merges = []
    for left, right in full["merges"][:MERGES]:
        if left in vocabulary and right in vocabulary:
            merges.append((left, right))
            vocabulary.setdefault(left + right, len(vocabulary))
    return families.bpe(vocabulary, merges)


def sentencepiece(package):
    kept, scores, kinds, _ = families.read_sentencepiece(package.read("mistral_common-*.whl", "tokenizer.model.v1"))
    letters = [i for i in range(259 + PIECES, len(kept)) if len(kept[i]) == 1 and kept[i].isascii() or kept[i] in (families.MARK, "\u00e9", "\u0436")]
    ids = [*range(259 + PIECES), *letters]
    family = families.spm_family([kept[i] for i in ids], [scores[i] for i in ids], [kinds[i] for i in ids], None)
    return family.json["model"]


def kinds():
    """Of each family: its name in GGUF files (none where they have no pre-tokenizer), what its tokenizer.json says."""
    nfc, replace = {"type": "NFC"}, {"type": "Replace", "pattern": {"String": " "}, "content": families.MARK}
    prepend = {"type": "Prepend", "prepend": families.MARK}
    spaces = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    first = {"type": "Metaspace", "replacement": families.MARK, "prepend_scheme": "first", "split": False}
    cut, bare = families.split, families.byte_level()
    of_bytes = (
        ("GPT-2, Phi 2", "gpt-2", bare, None), ("OLMo, MPT", "mpt", bare, nfc), ("Granite 3, StarCoder", "refact", families.digits(), None),
        ("Llama 3", "llama-bpe", cut(families.LLAMA3), None), ("Phi 4, Granite 4", "dbrx", cut(families.LLAMA3, "Removed", True), None),
        ("Qwen 2, Qwen 3", "qwen2", cut(families.QWEN2), nfc), ("Qwen 3.5", "qwen35", cut(families.QWEN35), nfc),
        ("gpt-oss", "gpt-4o", cut(families.O200K), None), ("Mistral tekken", "tekken", cut(families.TEKKEN), None),
    )
    of_pieces = (
        ("Mistral v1", None, {"type": "Sequence", "normalizers": [prepend, replace]}, {}), ("Mistral v3", first, None, {}),
        ("Gemma", spaces, replace, {}), ("Phi 3", None, {"type": "Sequence", "normalizers": [prepend, replace]}, {"rstrip": True}),
    )
    for name, pre, steps, normalizer in of_bytes:
        yield name, pre, steps, normalizer, {}
    for name, steps, normalizer, flags in of_pieces:
        yield name, "", steps, normalizer, flags


def main(folder):
    package = families.Package(folder)
    models = {"byte_level": byte_level(package), "sentencepiece": sentencepiece(package)}
    pieces = families.readable(models["byte_level"]["vocab"], False)
    said = FIXED + [text for text in texts.texts(8 * COUNT, 7, pieces, SPECIALS) if 20 < len(text) < 60][:COUNT]
    made = []
    for name, pre, steps, normalizer, flags in kinds():
        kind = "byte_level" if pre else "sentencepiece"
        model = {**models[kind], "ignore_merges": pre in ("llama-bpe", "tekken")}
        end = max(model["vocab"].values()) + 1
        added = [families.added(end, SPECIALS[0], True, **flags), families.added(end + 1, SPECIALS[1], False, normalized=bool(pre))]
        family = families.Family(None, families.document(model, added, normalizer, steps))
        oracle = families.oracle(family.json)
        family.json["model"] = {"ignore_merges": model["ignore_merges"]}
        made.append({"name": name, "kind": kind, "pre": pre, "tokenizer": family.json, "ids": [oracle.encode(text).ids for text in said]})
    lines = [f'"texts": {json.dumps(said)}', *(f'"{kind}": {json.dumps(model)}' for kind, model in models.items())]
    lines.append('"families": [\n' + ",\n".join(json.dumps(each, separators=(",", ":")) for each in made) + "\n]")
    WHERE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
