"""Conversations that chat templates are tried on, and Jinja2 as transformers sets it up."""

import datetime
import functools
import json

try:
    import jinja2.ext
    import jinja2.nodes
    import jinja2.sandbox
except ImportError:  # then only what was stored is compared
    jinja2 = None

NOW = datetime.datetime(2024, 7, 26, 13, 5, 0)  # render.cpp has the same clock

WEATHER = {
    "name": "get_weather",
    "description": "Weather of a \"city\", <now> & 'later'.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name, e.g. Zürich"},
            "unit": {"type": "string", "enum": ["c", "f"]},
            "days": {"type": "integer", "default": 3},
        },
        "required": ["city"],
    },
}
ADD = {
    "name": "add",
    "description": "Sums.",
    "parameters": {
        "type": "object",
        "properties": {
            "a": {"type": "number"},
            "items": {"type": "array", "items": {"type": "number"}},
            "opt": {"type": ["string", "null"]},
        },
        "required": ["a", "items"],
    },
    "return": {"type": "number"},
}
TOOLS = [{"type": "function", "function": each} for each in (WEATHER, ADD)]
STOCK = {
    "name": "get_stock",
    "description": "Price of a stock.",
    "parameters": {
        "type": "object",
        "properties": {
            "symbol": {"type": "string", "description": "Its symbol."},
            "days": {"type": "array", "items": {"type": "integer"}, "description": "Which days."},
        },
        "required": ["symbol"],
    },
    "return": {"type": "number", "description": "The price."},
}
DESCRIBED = [{"type": "function", "function": STOCK}]  # some templates read each member of it


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name, arguments, number="call_0001x"):
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(content, number="call_0001x", name="get_weather"):
    return said("tool", content, name=name, tool_call_id=number)


def part(text):
    return {"type": "text", "text": text}


system, user, assistant = (functools.partial(said, role) for role in ("system", "user", "assistant"))
PARIS = call("get_weather", {"city": "Paris", "days": 2, "deep": {"x": [1, 2.5, None, True]}})
AS_TEXT = call("get_weather", json.dumps({"city": "Paris"}), "abcdefghi")
SUM = call("add", {"a": 1, "items": [1, 2]}, "call_0002x")
SWITCHES = {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}
OFF = {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"}
VARIABLES = {
    "date_string": "1 Jan 2026",
    "tools_in_user_message": False,
    "builtin_tools": ["wolfram_alpha", "code_interpreter"],
    "controls": {"length": "short"},
    "available_tools": [],
    "json_response": True,
    "add_vision_id": True,
    "model_identity": "X",
    "functions": TOOLS,
}
THOUGHTS = [user("Hi"), assistant("<think>\nhm\n</think>\n\nYes."), user("No?"), assistant("<think>a</think> b")]
BLANKS = [
    system(" \u3000Be brief.\u00a0\n"),
    user(" \u2003Hi\u0085 "),
    assistant("\n Hello. \u3000"),
    user("\tBye\n"),
]
ONE_CALL = [
    system("Use tools."),
    user("Weather?"),
    assistant("", tool_calls=[PARIS]),
    answer('{"t": 21}'),
    assistant("21 degrees."),
    user("Thanks"),
]
TWO_CALLS = [
    user("Weather?"),
    assistant("x", tool_calls=[PARIS, SUM]),
    answer("21"),
    answer("4", "call_0002x", "add"),
]
PARTS = [
    system([part("S")]),
    user([part("Hi "), {"type": "image"}, part("there")]),
    assistant([part("ok")]),
    user([{"type": "image_url", "image_url": {"url": "x"}}]),
]
CASES = {
    "system": {"messages": [system("Be brief."), user("Hi")]},
    "turns": {"messages": [system("Be brief."), user("Hi"), assistant("Hello."), user("Bye")]},
    "user": {"messages": [user("Hi")]},
    "blanks": {"messages": BLANKS},
    "ends with an answer": {"messages": [user("Hi"), assistant(" Yes. ")]},
    "thoughts": {"messages": THOUGHTS},
    "reasoning": {
        "messages": [user("Hi"), assistant("Yes.", reasoning_content="hm", thinking="hm2"), user("No?")],
    },
    "tools": {"messages": [system("Use tools."), user("Weather?")], "tools": TOOLS},
    "call": {"messages": ONE_CALL, "tools": TOOLS},
    "call without content": {
        "messages": [user("Weather?"), assistant(None, tool_calls=[AS_TEXT]), answer("21", "abcdefghi")],
        "tools": TOOLS,
    },
    "call as text": {
        "messages": [
            user("Weather?"),
            assistant("Let me see.", tool_calls=[AS_TEXT]),
            answer("21", "abcdefghi"),
            user("ok?"),
        ],
    },
    "two calls": {"messages": TWO_CALLS, "tools": TOOLS},
    "part": {"messages": [user([part("Hi "), part("there")])]},
    "parts": {"messages": PARTS},
    "developer": {"messages": [said("developer", "Dev."), user("Hi")]},
    "roles out of order": {"messages": [user("a"), user("b"), assistant("c"), assistant("d")]},
    "thinking": {"messages": [system("S"), user("Hi")], "variables": SWITCHES},
    "not thinking": {"messages": [system("S"), user("Hi")], "variables": OFF},
    "variables": {"messages": [system("S"), user("Hi")], "tools": TOOLS, "variables": VARIABLES},
    "described tools": {
        "messages": [system("S"), user("Price?")],
        "tools": DESCRIBED,
        "variables": {"functions": json.dumps(DESCRIBED), "datetime": "2024-07-26"},
    },
    "described call": {
        "messages": [
            user("Price?"),
            assistant("", tool_calls=[call("get_stock", {"symbol": "X", "days": [1]})]),
            answer("3", name="get_stock"),
            assistant("It is 3."),
        ],
        "tools": DESCRIBED,
        "variables": {"functions": json.dumps(DESCRIBED), "datetime": "2024-07-26"},
    },
    "documents": {
        "messages": [user("Hi")],
        "documents": [{"title": "T", "text": "Body", "doc_id": 1}, {"title": "U", "text": "B2"}],
    },
}


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_inside"), [], [], body).set_lineno(line)

        def _inside(self, caller):
            return caller()

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        options = {"ensure_ascii": ensure_ascii, "indent": indent, "separators": separators, "sort_keys": sort_keys}
        return json.dumps(value, **options)

    sandbox = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    sandbox.filters["tojson"] = tojson
    sandbox.globals["raise_exception"] = refuse
    sandbox.globals["strftime_now"] = NOW.strftime
    return sandbox


def asked(template, case, add_generation_prompt):
    return {"template": template, "add_generation_prompt": add_generation_prompt, **CASES[case]}


def rendered_by_jinja(of, compiled, bos="<s>", eos="</s>"):
    """What Jinja2 makes of a request; None where it refuses. `compiled`: of its template."""
    given = {
        "messages": of["messages"],
        "tools": of.get("tools"),
        "documents": of.get("documents"),
        "add_generation_prompt": of["add_generation_prompt"],
        "bos_token": bos,
        "eos_token": eos,
    }
    try:
        return compiled.render(**given, **of.get("variables", {}))
    except Exception:  # whatever it is, it wrote no text
        return None
