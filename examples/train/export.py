"""A member as a GGUF file, with what says which target it belongs to and how it was made."""

import os
import pathlib

import gguf
import numpy
import torch

QUANTISED = {"f16": gguf.GGMLQuantizationType.F16, "q8_0": gguf.GGMLQuantizationType.Q8_0}
MASK = (1 << 64) - 1


def fnv(data, state):
    """FNV-1a over bytes, 64 bits."""
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & MASK
    return state


def fingerprint(path):
    """What marks a target: names, types, sizes and the ends of all its tensors. 16 hexadecimal digits."""
    state = 0xCBF29CE484222325
    for name, kind, dimensions, data in tensors_of(pathlib.Path(path)):
        state = fnv(name.encode() + kind, state)
        for dimension in dimensions:
            state = fnv(int(dimension).to_bytes(8, "little"), state)
        state = fnv(bytes(data[:4096]), state)
        state = fnv(bytes(data[-4096:]), state)
    return f"{state:016x}"


def field(reader, key):
    return reader.fields[key].contents() if key in reader.fields else None


class Earlier:
    """A member that was exported before, of the same target."""

    def __init__(self, path, fingerprint):
        self.path, self.reader = path, gguf.GGUFReader(path)
        of = self.field("augur.target.fingerprint")
        if of != fingerprint:
            raise SystemExit(f"{path}: belongs to target {of}, this one is {fingerprint}")

    def field(self, key):
        return field(self.reader, key)

    def restore(self, member):
        """Gives a member the file's weights. Both have the same rows of the head."""
        weights = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in self.reader.tensors}
        state = {name: torch.from_numpy(weights[member.stored_name(name)].copy()) for name in member.state_dict()}
        member.load_state_dict(state)


def tensors_of(path):
    """Name, type, dimensions and bytes of each tensor."""
    if not path.is_dir():
        for t in gguf.GGUFReader(path).tensors:
            yield t.name, int(t.tensor_type).to_bytes(4, "little"), t.shape, t.data.reshape(-1).view(numpy.uint8)
        return
    found = {}
    for file in sorted(path.glob("*.safetensors")):
        found.update(safetensors_of(file))
    yield from (found[name] for name in sorted(found))


def safetensors_of(file):
    import json

    data = numpy.memmap(file, numpy.uint8, "r")
    start = 8 + int.from_bytes(bytes(data[:8]), "little")
    for name, entry in json.loads(bytes(data[8:start])).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, (name, entry["dtype"].encode(), entry["shape"], data[start + begin : start + end])


class Member:
    """The file of one member, while it is written."""

    def __init__(self, path, name, about, architecture="augur"):
        self.path, self.part = pathlib.Path(path), pathlib.Path(f"{path}.part")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.writer = gguf.GGUFWriter(self.part, architecture)
        add = self.writer
        add.add_string("general.name", f"{about.get('target_name', 'augur')} {name}")
        add.add_string("general.license", about["licence"])
        add.add_string("augur.member", name)
        if "fingerprint" in about:  # of a member that belongs to a target
            add.add_string("augur.target.name", about["target_name"])
            add.add_string("augur.target.fingerprint", about["fingerprint"])
        add.add_uint64("augur.trained.tokens", about["tokens"])
        add.add_string("augur.trained.data", about["data"])

    def add_ids(self, key, ids):
        self.writer.add_key_value(key, [int(id) for id in ids], gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.INT32)

    def add_shape(self, shape, layers):
        """The metadata of a llama of so many layers."""
        add = self.writer
        add.add_block_count(layers)
        add.add_context_length(shape.context)
        add.add_embedding_length(shape.width)
        add.add_feed_forward_length(shape.inner)
        add.add_head_count(shape.heads)
        add.add_head_count_kv(shape.kv_heads)
        add.add_rope_dimension_count(shape.head)
        add.add_rope_freq_base(shape.rope_base)
        add.add_layer_norm_rms_eps(shape.epsilon)
        add.add_vocab_size(shape.vocabulary)

    def add_member(self, member, kind):
        self.add_weights({member.stored_name(name): tensor for name, tensor in member.state_dict().items()}, kind)

    def add_weights(self, state, kind):
        """A module's parameters: matrices in `kind`, where its blocks fit, vectors as they are."""
        for name, tensor in state.items():
            values = tensor.detach().float().cpu().numpy()
            if values.ndim < 2:
                self.writer.add_tensor(name, values)
                continue
            fits = values.shape[-1] % gguf.GGML_QUANT_SIZES[QUANTISED[kind]][0] == 0
            stored = QUANTISED[kind if fits else "f16"]
            self.writer.add_tensor(name, gguf.quants.quantize(values, stored), raw_dtype=stored)

    def add_integers(self, name, values):
        self.writer.add_tensor(name, numpy.ascontiguousarray(values, numpy.int32))

    def close(self):
        """Puts the whole file under its name."""
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()
        os.replace(self.part, self.path)
        return self.path.stat().st_size
