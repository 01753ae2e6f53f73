"""Chat templates beside Jinja2: beside_jinja2.py FOLDER_OF_TEMPLATES RENDERER (render.cpp, compiled by hand; not yet a test)."""
import json, glob, os, subprocess, sys, datetime, time
import jinja2, jinja2.ext, jinja2.sandbox
from jinja2 import nodes
class Generation(jinja2.ext.Extension):
    tags={"generation"}
    def parse(self, parser):
        ln=next(parser.stream).lineno
        body=parser.parse_statements(["name:endgeneration"],drop_needle=True)
        return nodes.CallBlock(self.call_method("_g"),[],[],body).set_lineno(ln)
    def _g(self, caller): return caller()
def raise_exception(m): raise jinja2.exceptions.TemplateError(m)
def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
NOW=datetime.datetime(2024,7,26,13,5,0)
env=jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True,lstrip_blocks=True,extensions=[Generation,jinja2.ext.loopcontrols])
env.filters["tojson"]=tojson
env.globals["raise_exception"]=raise_exception
env.globals["strftime_now"]=lambda f: NOW.strftime(f)
import functools
compiled=functools.lru_cache(None)(env.from_string)
def oracle(a):
    try:
        t=compiled(a["template"])
        return {"text":t.render(messages=a["messages"],tools=a.get("tools"),documents=a.get("documents"),add_generation_prompt=a.get("add_generation_prompt",False),bos_token="<s>",eos_token="</s>",**(a.get("variables") or {}))}
    except Exception as e: return {"error":type(e).__name__+": "+str(e)}
TOOLS=[{"type":"function","function":{"name":"get_weather","description":"Weather of a \"city\", <now> & 'later'.","parameters":{"type":"object","properties":{"city":{"type":"string","description":"Name, e.g. Zürich"},"unit":{"type":"string","enum":["c","f"]},"days":{"type":"integer","default":3}},"required":["city"]}}},
 {"type":"function","function":{"name":"add","description":"Sums.","parameters":{"type":"object","properties":{"a":{"type":"number"},"items":{"type":"array","items":{"type":"number"}},"opt":{"type":["string","null"]}},"required":["a","items"]},"return":{"type":"number"}}}]
CALL=[{"id":"call_0001x","type":"function","function":{"name":"get_weather","arguments":{"city":"Paris","days":2,"deep":{"x":[1,2.5,None,True]}}}}]
CALLS=[{"id":"abcdefghi","type":"function","function":{"name":"get_weather","arguments":json.dumps({"city":"Paris"})}}]
u=lambda t:{"role":"user","content":t}; s=lambda t:{"role":"system","content":t}; a=lambda t:{"role":"assistant","content":t}
CASES={
 "system": dict(messages=[s("Be brief."),u("Hi")]),
 "turns": dict(messages=[s("Be brief."),u("Hi"),a("Hello."),u("Bye")]),
 "user": dict(messages=[u("Hi")]),
 "blanks": dict(messages=[s(" \u3000Be brief.\u00a0\n"),u(" \u2003Hi\u0085 "),a("\n Hello. \u3000"),u("\tBye\n")]),
 "noprompt": dict(messages=[u("Hi"),a(" Yes. ")]),
 "think": dict(messages=[u("Hi"),a("<think>\nhm\n</think>\n\nYes."),u("No?"),a("<think>a</think> b")]),
 "reasoning": dict(messages=[u("Hi"),{"role":"assistant","content":"Yes.","reasoning_content":"hm","thinking":"hm2"},u("No?")]),
 "tools": dict(messages=[s("Use tools."),u("Weather?")],tools=TOOLS),
 "toolcall": dict(messages=[s("Use tools."),u("Weather?"),{"role":"assistant","content":"","tool_calls":CALL},{"role":"tool","name":"get_weather","tool_call_id":"call_0001x","content":"{\"t\": 21}"},a("21 degrees."),u("Thanks")],tools=TOOLS),
 "toolcall_none": dict(messages=[u("Weather?"),{"role":"assistant","content":None,"tool_calls":CALLS},{"role":"tool","name":"get_weather","tool_call_id":"abcdefghi","content":"21"}],tools=TOOLS),
 "toolcall_str": dict(messages=[u("Weather?"),{"role":"assistant","content":"Let me see.","tool_calls":CALLS},{"role":"tool","name":"get_weather","tool_call_id":"abcdefghi","content":"21"},u("ok?")]),
 "twocalls": dict(messages=[u("Weather?"),{"role":"assistant","content":"x","tool_calls":CALL+[{"id":"call_0002x","type":"function","function":{"name":"add","arguments":{"a":1,"items":[1,2]}}}]},{"role":"tool","name":"get_weather","tool_call_id":"call_0001x","content":"21"},{"role":"tool","name":"add","tool_call_id":"call_0002x","content":"4"}],tools=TOOLS),
 "parts": dict(messages=[{"role":"user","content":[{"type":"text","text":"Hi "},{"type":"text","text":"there"}]}]),
 "parts_system": dict(messages=[{"role":"system","content":[{"type":"text","text":"S"}]},{"role":"user","content":[{"type":"text","text":"Hi "},{"type":"image"},{"type":"text","text":"there"}]},{"role":"assistant","content":[{"type":"text","text":"ok"}]},{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]),
 "developer": dict(messages=[{"role":"developer","content":"Dev."},u("Hi")]),
 "badroles": dict(messages=[u("a"),u("b"),a("c"),a("d")]),
 "thinking_on": dict(messages=[s("S"),u("Hi")],variables={"enable_thinking":True,"thinking":True,"reasoning_effort":"high"}),
 "thinking_off": dict(messages=[s("S"),u("Hi")],variables={"enable_thinking":False,"thinking":False,"reasoning_effort":"low"}),
 "vars": dict(messages=[s("S"),u("Hi")],tools=TOOLS,variables={"date_string":"1 Jan 2026","tools_in_user_message":False,"builtin_tools":["wolfram_alpha","code_interpreter"],"controls":{"length":"short"},"available_tools":[],"json_response":True,"add_vision_id":True,"model_identity":"X","functions":TOOLS}),
 "docs": dict(messages=[u("Hi")],documents=[{"title":"T","text":"Body","doc_id":1},{"title":"U","text":"B2"}]),
}
if __name__=="__main__":
    asked=[]; who=[]
    for f in sorted(glob.glob(sys.argv[1]+"/*.jinja")):
        src=open(f,newline="").read()
        for n,c in CASES.items():
            for g in (True,False):
                asked.append({"template":src,"add_generation_prompt":g,**c}); who.append((os.path.basename(f),n,g))
    t0=time.time()
    r=subprocess.run([sys.argv[2]],input="\n".join(json.dumps(x) for x in asked),capture_output=True,text=True)
    print("render",time.time()-t0,r.returncode,r.stderr[-300:])
    ours=[json.loads(l) for l in r.stdout.split("\n") if l]
    same=both=0; bad={}; whole={}
    for w,x,o in zip(who,asked,ours):
        e=oracle(x)
        if "text" in e and e==o: same+=1
        elif "error" in e and "error" in o: both+=1; 
        else: bad.setdefault(w[0],[]).append((w,e,o))
        if len(sys.argv)>3 and sys.argv[3] in w[0] : print(w,e,o)
    print("equal",same,"both refuse",both,"of",len(asked),"bad templates",len(bad))
    for k,v in bad.items():
        print(k,len(v)); w,e,o=v[0]; print("  ",w); print("   J:",repr(e)[:300]); print("   O:",repr(o)[:300])
        if 'text' in e and 'text' in o:
            i=next((i for i,(p,q) in enumerate(zip(e['text'],o['text'])) if p!=q),min(len(e['text']),len(o['text'])))
            print("   at",i,repr(e['text'][max(0,i-40):i+60]),'|',repr(o['text'][max(0,i-40):i+60]))
