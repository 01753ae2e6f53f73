"""Trace events as Perfetto and chrome://tracing read them: the JSON object form of the Trace Event Format."""

import collections
import decimal
import json

NAMES = {"process_name", "thread_name"}
KEYS = {
    "X": {"name", "ph", "pid", "tid", "ts", "dur", "args"},
    "C": {"name", "ph", "pid", "tid", "ts", "args"},
    "M": {"name", "ph", "pid", "tid", "args"},
}


def whole_nanoseconds(test, value):
    """Microseconds as nanoseconds; importers keep no more than these."""
    scaled = decimal.Decimal(value) * 1000
    test.assertEqual(scaled, scaled.to_integral_value(), value)
    test.assertGreaterEqual(scaled, 0)
    return int(scaled)


def check_event(test, event):
    test.assertIn(event["ph"], KEYS)
    test.assertEqual(KEYS[event["ph"]], set(event))
    test.assertTrue(isinstance(event["name"], str) and event["name"] and isinstance(event["args"], dict), event)
    test.assertEqual([int, int], [type(event["pid"]), type(event["tid"])], event)
    if event["ph"] == "M":
        test.assertIn(event["name"], NAMES)
        test.assertEqual(["name"], [*event["args"]])
        test.assertIsInstance(event["args"]["name"], str)
    if event["ph"] == "C":
        test.assertTrue(event["args"])
        test.assertTrue(all(isinstance(value, (int, decimal.Decimal)) for value in event["args"].values()), event)


def check_names(test, events):
    """Every process and every track has one name, and no name is without events."""
    named, seen = collections.Counter(), set()
    for event in events:
        if event["ph"] == "M":
            named[event["pid"], event["tid"] if event["name"] == "thread_name" else None] += 1
        else:
            seen.add((event["pid"], None))
        if event["ph"] == "X":
            seen.add((event["pid"], event["tid"]))
    test.assertEqual({each: 1 for each in seen}, named)


def check_tracks(test, events):
    """Events of one track lie beside each other, to the nanosecond: importers drop what overlaps, and nothing here nests."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = whole_nanoseconds(test, event["ts"])
            tracks[event["pid"], event["tid"]].append((begin, begin + whole_nanoseconds(test, event["dur"]), event["name"]))
    for track, spans in tracks.items():
        before = 0
        for begin, end, name in sorted(spans):
            test.assertGreaterEqual(begin, before, f"{name} on track {track} overlaps")
            before = end


def check_trace_events(test, text):
    """A whole trace, strictly; nothing may be there that the format does not know."""
    trace = json.loads(text, parse_float=decimal.Decimal, parse_constant=lambda name: test.fail(f"{name} is no JSON"))
    test.assertEqual({"traceEvents", "displayTimeUnit", "otherData"}, set(trace))
    test.assertIn(trace["displayTimeUnit"], ("ms", "ns"))
    series = collections.defaultdict(set)
    for event in trace["traceEvents"]:
        check_event(test, event)
        if event["ph"] == "C":
            whole_nanoseconds(test, event["ts"])
            series[event["pid"], event["name"]].add(tuple(sorted(event["args"])))
    test.assertTrue(all(len(keys) == 1 for keys in series.values()), series)
    check_names(test, trace["traceEvents"])
    check_tracks(test, trace["traceEvents"])
