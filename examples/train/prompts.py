"""Prompts of several kinds: from templates and word lists, or begun here and ended by the target itself.

A prompt is held out of training by its own text alone, so whoever writes it, however often, it stays on one side.
"""

import random
import zlib


def listed(words):
    """What bars and ends of lines separate."""
    return [word.strip() for word in words.replace("\n", "|").split("|") if word.strip()]


KINDS = ("instruction", "question", "code", "maths", "conversation", "creative")

TOPICS = listed("""volcanoes|honey bees|the Roman Empire|solar panels|the human heart|black holes|coral reefs|chess|sourdough bread|
the French Revolution|glaciers|vaccines|the stock market|jazz music|electric cars|rainforests|the moon|photosynthesis|
ancient Egypt|recycling|the internet|migraines|whales|inflation|democracy|yoga|earthquakes|tea|antibiotics|the printing press|
gravity|sleep|wolves|the Silk Road|batteries|memory|rivers|bicycles|cheese|probability|dinosaurs|satellites|the Renaissance|
gardening|marathons|DNA|lightning|public libraries|steam engines|spiders|urban planning|the periodic table|meditation|tides|
olive oil|robots|the Great Wall of China|allergies|penguins|compilers|monsoons|taxes|origami|supply and demand""")
AUDIENCES = listed("a child|a beginner|a busy manager|a high school student|my grandmother|an engineer|a curious friend|tourists")
FORMS = listed("""a short summary of|three interesting facts about|a brief history of|a list of common misconceptions about|
an introductory paragraph on|a quiz with five questions on|the advantages and disadvantages of|a lesson plan about|
a step-by-step guide to learning about|a tweet about|a product description inspired by|a comparison of books on|
a glossary of ten terms about|a newspaper headline and article about|an email to a colleague about""")
QUESTIONS = listed("""How does {topic} work?|Why is {topic} important?|What should I know about {topic}?|Who first studied {topic}?|
What are the most common questions people ask about {topic}?|What is the connection between {topic} and {other}?|
When did people first learn about {topic}?|Which is more complicated, {topic} or {other}, and why?|
Can you explain {topic} to {audience}?|What would happen without {topic}?|Where can I learn more about {topic}?|
What are the risks of {topic}?|How has our understanding of {topic} changed over time?""")
LANGUAGES = listed("Python|Python|Python|JavaScript|C++|Java|C|Go|Rust|SQL|a shell script|Ruby")
VERBS = listed("""reverses|sorts|counts the words in|removes duplicates from|finds the largest element of|prints every element of|
computes the average of|searches for a value in|merges two of|filters the even numbers from|validates|parses|
finds the longest run in|rotates|splits into chunks|writes to a file|reads from a file|computes a checksum of""")
OBJECTS = listed("""a list of integers|a string|a linked list|a dictionary|a CSV file|a binary tree|a matrix|a JSON document|a queue|
a set of dates|a sentence|an array of floating-point numbers|a stack|a log file|a list of names|a graph|a date range""")
CODE = listed("""Write a function in {language} that {verb} {object}.|How do I write {language} code that {verb} {object}?|
Write a {language} program that {verb} {object}, with comments.|Explain this task and solve it in {language}: it {verb} {object}.|
Write unit tests in {language} for a function that {verb} {object}.|Show me two ways in {language} to write something that {verb} {object}.|
Write a class in {language} with methods for {object}; one of them {verb} {object}.""")
THINGS = listed("apples|books|marbles|tickets|cookies|pencils|stamps|coins|bottles|chairs|eggs|bricks")
NAMES = listed("Anna|Ben|Chloe|David|Elena|Farid|Grace|Hiro|Ines|Jonas|Kofi|Lena|Maria|Nora|Omar|Priya")
MATHS = listed("""What is {a} + {b} * {c}?|Solve for x: {c}x + {a} = {b}.|Calculate {a} times {c} and explain each step.|
{name} has {a} {thing} and gives {c} to {friend}. How many {thing} are left?|What is {c}% of {b}?|
A train travels {b} kilometers in {c} hours. What is its average speed?|Find the area of a rectangle of {a} by {c}.|
{name} buys {c} {thing} at ${a} each and pays with ${b}. How much change is there?|What is the greatest common divisor of {a} and {b}?|
Find the derivative of {c}x^3 + {a}x - {b}.|Is {b} a prime number? Explain.|List the first {c} multiples of {a}.|
{name} has {c} times as many {thing} as {friend}, who has {a}. How many have they together?|Simplify the fraction {a}/{b}.|
What is the sum of the numbers from {c} to {a}?|Convert {b} minutes into hours and minutes.""")
FEELINGS = listed("tired|excited|nervous|bored|proud|lonely|curious|stressed|happy|confused|homesick|grateful")
EVENTS = listed("""my new job|my exam next week|moving to another city|my sister's wedding|learning the guitar|my first marathon|
adopting a dog|a long flight|speaking in public|my garden|cooking for friends|a difficult neighbor|retiring next year|
starting a small business|a trip to Japan|my math class|the weather|a book I just finished""")
CONVERSATION = listed("""Hi! I feel {feeling} about {event}. What do you think?|Hello, can we talk about {event}?|
I am {feeling} because of {event}. Any advice?|What would you do if you were {feeling} about {event}?|
Good morning! I need help with {event}.|My friend {name} is {feeling} about {event}. What should I say?|
Do you ever feel {feeling}?|Tell me something nice about {event}.|I can't decide what to do about {event}.|
Hey, {name} here. Ask me some questions about {event}.|I want to write to {name} about {event}. Help me start.""")
WORKS = listed("story|poem|dialogue|song|fable|scene for a play|letter|diary entry|haiku|fairy tale|monologue|limerick")
HEROES = listed("""a dragon|an old lighthouse keeper|two rival bakers|a lost robot|a talking cat|a shy astronaut|a detective|
a young violinist|the last tree|a ghost|a postman|twin sisters|a retired pirate|a clockmaker|a snowman""")
PLACES = listed("""in a quiet village|on Mars|at the bottom of the sea|in a library at night|during a storm|in the desert|
on a train|in medieval France|in a city of glass|at a crowded market|in the mountains|on the first day of spring""")
CREATIVE = listed("""Write a {work} about {hero} {place}.|Write a short {work} in which {hero} meets {rival} {place}.|
Begin a {work} about {hero}, set {place}.|Write a funny {work} about {hero} who loves {topic}.|
Describe {hero} {place} in one paragraph.|Invent a {work} that {name} tells {friend} about {topic}.""")
OPENINGS = {
    "instruction": listed("Write|Explain|Describe|Give me|List|Summarize|Compare|Create|Suggest|Rewrite|Translate|Outline|Classify"),
    "question": listed("What|How|Why|Who|When|Where|Which|Is it|Can|What is|How do|Does|Are there"),
    "code": listed("""Write a Python function|Write a program|How do I|Fix this code:|Write a function that|In JavaScript,|Implement
What does this code do?|Create a class|Write a SQL query|def|Write a C++ program"""),
    "maths": listed("Calculate|Solve|If|Find the|What is the value of|A|Let|Prove that|How many|The sum of|Simplify"),
    "conversation": listed("Hi|Hello|I feel|I have|My|I'm|Can you help me|I want to|Thank you|Do you|Let's|I need"),
    "creative": listed("Write a story|Write a poem|Imagine|Tell me a story|Create a character|Once upon a time|Write a song|Invent"),
}


def template(kind, draw):
    """A prompt of a kind, from its templates."""
    pick = lambda words: draw.choice(words)
    words = dict(topic=pick(TOPICS), other=pick(TOPICS), audience=pick(AUDIENCES), language=pick(LANGUAGES), verb=pick(VERBS))
    words |= dict(object=pick(OBJECTS), thing=pick(THINGS), name=pick(NAMES), friend=pick(NAMES), feeling=pick(FEELINGS))
    words |= dict(event=pick(EVENTS), work=pick(WORKS), hero=pick(HEROES), rival=pick(HEROES), place=pick(PLACES))
    words |= dict(a=draw.randint(10, 99), b=draw.randint(100, 999), c=draw.randint(2, 12))
    if kind == "instruction":
        end = pick(("", "", f" for {words['audience']}", f" and {words['other']}"))
        return f"{pick(('Write', 'Give me', 'I need', 'Please write'))} {pick(FORMS)} {words['topic']}{end}."
    templates = {"question": QUESTIONS, "code": CODE, "maths": MATHS, "conversation": CONVERSATION, "creative": CREATIVE}
    return pick(templates[kind]).format(**words)


def plan(seed, count):
    """`count` pairs of a kind and a prompt, every other one only an opening (None, opening) for the target to go on from."""
    draw = random.Random(seed)
    chosen = []
    for i in range(count):
        kind = KINDS[(i // 2) % len(KINDS)]
        chosen.append((kind, template(kind, draw), None) if i % 2 else (kind, None, draw.choice(OPENINGS[kind])))
    return chosen


def held_out(prompt):
    """One prompt in sixteen judges what the others taught."""
    return zlib.crc32(prompt.encode()) % 16 == 0
