#!/usr/bin/env python3
"""A model split over two RPC servers of llama.cpp, with a network between whose packets take so many milliseconds each way.

    benchmarks/rpc_delays.py --program build/dev/bin/augur --model $MODEL --llama-cpp $(python3 examples/fetch.py llama.cpp) --output files

As root. The program and the servers have a network namespace each; no interface of this machine is touched, and what was made is taken
away at the end. Packets are delayed by `tc netem` where the kernel has it, else by this process: it reads them from TUN devices and
writes them when their time has come (--link tun|netem). Writes results.json, results.md and rpc_delays.svg.
"""

import argparse
import contextlib
import ctypes
import fcntl
import heapq
import itertools
import json
import os
import pathlib
import select
import signal
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import svg  # noqa: E402

PLACES = ("client", "one", "two")  # 10.77.0.1, .2 and .3
PORT = 50052
SERVERS = ",".join(f"10.77.0.{2 + i}:{PORT}" for i in range(2))
TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001
MTU = 32768


def serve(folder, endpoint):
    """What ggml-rpc-server does: this processor, one thread, until it is ended."""
    folder = pathlib.Path(folder) / "lib"
    libraries = {}
    for name in ("ggml-base", "ggml-cpu", "ggml-rpc", "ggml"):
        found = sorted(folder.glob(f"lib{name}.so*"))
        if not found:
            sys.exit(f"rpc_delays.py: error: {folder} has no lib{name}.so")
        libraries[name] = ctypes.CDLL(str(found[0]), ctypes.RTLD_GLOBAL)
    by_type = libraries["ggml"].ggml_backend_dev_by_type
    by_type.restype, by_type.argtypes = ctypes.c_void_p, [ctypes.c_int]
    device = (ctypes.c_void_p * 1)(by_type(0))
    start = libraries["ggml-rpc"].ggml_backend_rpc_start_server
    start.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
    start(endpoint.encode(), None, 1, 1, device)


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")


def space(place):
    return f"augur-{os.getpid()}-{place}"


def inside(place, *words):
    return ["ip", "netns", "exec", space(place), *map(str, words)]


def tun(place, number):
    """The end that packets of the namespace come out of."""
    name = f"atun{os.getpid()}{number}"[:15]
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_NO_PI))
    command("ip", "link", "set", name, "netns", space(place))
    for words in (("addr", "add", f"10.77.0.{number}/24", "dev", name), ("link", "set", name, "mtu", MTU, "txqueuelen", 4096, "up")):
        command(*inside(place, "ip", *words))
    return end


def relay(ends, seconds):
    """Packets reach the namespace of their destination so many seconds later, in order; those for nobody are dropped."""
    waiting, order = [], itertools.count()
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], left)[0]:
            with contextlib.suppress(BlockingIOError):
                for _ in range(64):
                    packet = os.read(end, MTU + 64)
                    to = packet[19] - 1 if packet[0] >> 4 == 4 and packet[16:19] == b"\x0a\x4d\x00" else -1
                    if 0 <= to < len(ends):
                        heapq.heappush(waiting, (time.monotonic() + seconds, next(order), ends[to], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            with contextlib.suppress(BlockingIOError):
                os.write(end, packet)


@contextlib.contextmanager
def tun_link(milliseconds):
    ends = [tun(place, i + 1) for i, place in enumerate(PLACES)]
    process = os.fork()
    if process == 0:
        with contextlib.suppress(BaseException):
            relay(ends, milliseconds / 1000)
        os._exit(1)
    for end in ends:
        os.close(end)
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


@contextlib.contextmanager
def netem_link(milliseconds):
    """A bridge in the client's namespace, and a pair of interfaces to each server."""
    bridge = "abridge"
    command(*inside("client", "ip", "link", "add", bridge, "type", "bridge"))
    command(*inside("client", "ip", "addr", "add", "10.77.0.1/24", "dev", bridge))
    command(*inside("client", "ip", "link", "set", bridge, "up"))
    for i, place in enumerate(PLACES[1:]):
        here, there = f"ahere{i}", f"athere{i}"
        command(*inside("client", "ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", space(place)))
        command(*inside("client", "ip", "link", "set", here, "master", bridge, "up"))
        command(*inside(place, "ip", "addr", "add", f"10.77.0.{2 + i}/24", "dev", there))
        command(*inside(place, "ip", "link", "set", there, "up"))
        for of, device in (("client", here), (place, there)):
            command(*inside(of, "tc", "qdisc", "add", "dev", device, "root", "netem", "delay", f"{milliseconds}ms", "limit", 100000))
    yield


@contextlib.contextmanager
def network(link, milliseconds):
    """Three namespaces with this link between, taken away again whatever happens."""
    running = []
    try:
        for place in PLACES:
            command("ip", "netns", "add", space(place))
            running.append(place)
            command(*inside(place, "ip", "link", "set", "lo", "up"))
        with (netem_link if link == "netem" else tun_link)(milliseconds):
            yield
    finally:
        for place in running:
            command("ip", "netns", "del", space(place))


def has_netem():
    """Tried in a namespace of its own."""
    name = space("netem")
    try:
        command("ip", "netns", "add", name)
    except OSError as problem:
        sys.exit(f"rpc_delays.py: error: network namespaces need root: {problem}")
    tried = ["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    has = subprocess.run(tried, capture_output=True, check=False).returncode == 0
    command("ip", "netns", "del", name)
    return has


@contextlib.contextmanager
def servers(folder):
    """Both, once they listen."""
    begun = []
    try:
        for i, place in enumerate(PLACES[1:]):
            words = inside(place, sys.executable, "-B", __file__, "--serve", f"0.0.0.0:{PORT}", "--llama-cpp", folder)
            begun.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            probe = f"import socket; socket.create_connection(('10.77.0.{2 + i}', {PORT}), 5)"
            for _ in range(200):
                if subprocess.run(inside("client", sys.executable, "-c", probe), capture_output=True, check=False).returncode == 0:
                    break
                if begun[-1].poll() is not None:
                    sys.exit(f"rpc_delays.py: error: the server of {folder} ended with {begun[-1].returncode}")
                time.sleep(0.1)
            else:
                sys.exit(f"rpc_delays.py: error: the server in {place} does not listen")
        yield
    finally:
        for each in begun:
            each.kill()
            each.wait()


def output_of(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"rpc_delays.py: error: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def asked(chosen, more, where=()):
    common = ("--model", chosen.model, "--engine", "llama.cpp", "--threads", 1, "--max-tokens", chosen.max_tokens, "--json")
    return output_of([*where, chosen.program, *more, *common])


def texts(chosen, where=(), rpc=()):
    """Ids of two schemes on the first prompt."""
    prompt = json.loads(chosen.prompts.read_text().splitlines()[0])["prompt"]
    of = lambda *scheme: asked(chosen, ("generate", "--prompt", prompt, "--scheme", *scheme, "--ignore-eos", *rpc), where)["ids"]
    return [of("plain"), of("lookup", "--length", 4)]


def measured(chosen, delay, local):
    """One delay: each scheme's speed over plain decoding, that of the throughput model, and the tokens drafted a round."""
    where, rpc = inside("client"), ("--rpc", SERVERS)
    with network(chosen.link, delay), servers(chosen.llama_cpp):
        same = texts(chosen, where, rpc) == local
        named = [word for scheme in chosen.schemes for word in ("--scheme", scheme)]
        repeated = ("--limit", chosen.limit, "--repetitions", chosen.repeat)
        got = asked(chosen, ("bench", "schemes", "--prompts", chosen.prompts, *named, *repeated, *rpc), where)
    rows = []
    for i, task in enumerate(got["tasks"][-1]["schemes"]):
        of = [prompt["schemes"][i] for prompt in got["prompts"]]
        rounds = sum(each["rounds"] for each in of)
        drafted = sum(each["drafted"] for each in of) / max(1, rounds)
        rows.append({key: task[key] for key in ("scheme", "tokens_per_second", "speedup", "predicted", "accepted_length", "identical")})
        rows[-1]["drafted_a_round"] = round(drafted, 3)
    return {"milliseconds": delay, "equal_to_one_process": same, "pass_seconds": got["verify_seconds_behind"]["seconds"], "prompts": len(got["prompts"]), "schemes": rows}


def table(results):
    lines = [
        "|delay each way, ms|text of one process|pass over one row, ms|scheme|tokens a second|speed over plain|throughput model|tokens a pass|drafted a round|texts equal to plain|",
        "|-|-|-|-|-|-|-|-|-|-|",
    ]
    for at in results["delays"]:
        for of in at["schemes"]:
            cells = (
                f"{at['milliseconds']:g}", "yes" if at["equal_to_one_process"] else "no", f"{1000 * at['pass_seconds'][0]:.1f}", of["scheme"],
                f"{of['tokens_per_second']:.2f}", f"{of['speedup']:.2f}", f"{of['predicted']:.2f}", f"{of['accepted_length']:.2f}",
                f"{of['drafted_a_round']:.2f}", f"{of['identical']} of {at['prompts']}",
            )  # fmt: skip
            lines.append("|" + "|".join(cells) + "|")
    return "\n".join(lines) + "\n"


def chart(results, words):
    delays = [at["milliseconds"] for at in results["delays"]]
    names = [of["scheme"] for of in results["delays"][0]["schemes"] if of["scheme"] != "plain"]
    of = lambda name, key: [next(each[key] for each in at["schemes"] if each["scheme"] == name) for at in results["delays"]]
    speeds = [{"name": name, "x": delays, "y": of(name, "speedup")} for name in names]
    lengths = [{"name": name, "x": delays, "y": of(name, "drafted_a_round")} for name in names]
    panels = [{"title": "speed over plain decoding", "series": speeds}, {"title": "tokens drafted a round", "series": lengths}]
    title = "Speculation over two RPC servers: it gains where passes wait for the network"
    return {"kind": "lines", "title": title, "x": "delay of a packet each way, ms", "command": words, "measured": results["machine"], "panels": panels}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--serve", help=argparse.SUPPRESS)
    add("--program", type=pathlib.Path, help="augur, built with llama.cpp")
    add("--model", type=pathlib.Path)
    add("--llama-cpp", required=True, type=pathlib.Path, help="folder with lib/: what the servers run")
    add("--output", type=pathlib.Path)
    add("--prompts", type=pathlib.Path, default=HERE / "prompts" / "prompts.jsonl", help="JSON lines: task, prompt")
    add("--scheme", dest="schemes", action="append", help="as of bench schemes (repeatable; lookup of 2, of 6, and what pays)")
    add("--delays", default="0,1,5,20", help="milliseconds each way (%(default)s)")
    add("--link", choices=("netem", "tun"), help="netem where the kernel has it, else tun")
    add("--limit", type=int, default=1, help="prompts of each task (%(default)s)")
    add("--max-tokens", type=int, default=96)
    add("--repeat", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.serve:
        return serve(chosen.llama_cpp, chosen.serve)
    for name in ("program", "model", "output"):
        if getattr(chosen, name) is None:
            parser.error(f"--{name} is needed")
        setattr(chosen, name, getattr(chosen, name).absolute())
    chosen.schemes = chosen.schemes or ["lookup:length=2", "lookup:length=6", "lookup"]
    chosen.link = chosen.link or ("netem" if has_netem() else "tun")
    chosen.output.mkdir(parents=True, exist_ok=True)
    local = texts(chosen)
    machine = f"{os.cpu_count()} cores, one thread a process, packets delayed by {chosen.link}, {time.strftime('%d %B %Y')}"
    results = {"machine": machine, "link": chosen.link, "model": chosen.model.name, "delays": []}
    for delay in map(float, chosen.delays.split(",")):
        results["delays"].append(measured(chosen, delay, local))
        (chosen.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        print(f"{delay:g} ms", file=sys.stderr)
    (chosen.output / "results.md").write_text(table(results))
    svg.save(chart(results, f"benchmarks/rpc_delays.py --max-tokens {chosen.max_tokens} --limit {chosen.limit}"), chosen.output, "rpc_delays")
    print(table(results), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
