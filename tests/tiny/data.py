"""The bundled model's training and test data: endless seeded conversations, and a fixed test set of wordings and
pairs of topic and wording that the conversations never contain. Standard library only.

A Turn is a question with what the model should say: its answer, the answer in one word, and its reasoning. A
conversation has a system prompt ("" for none) and a style that follows from it: "plain", "word" or "capitals".

    python3 data.py [SEED]     shows a few conversations and the size of the test set
"""

import random
import re
import sys
import zlib
from collections import namedtuple

from glossary import CHINESE, SMALL_TALK, TOPICS, full_width
from questions import ALIASES, FREE, GROUPS, expand

Turn = namedtuple("Turn", "user answer word reason")

ONE_WORD, CAPITALS = "Answer in one word.", "Answer in capital letters."
UNKNOWN = "I do not know that. I know this program and the ideas in it: ask me about RMSNorm, the KV cache or top-p."
UNKNOWN_CHINESE = "我不知道。我只知道这个程序和其中的概念。"
BIG_SUM = "I can only add and subtract numbers of one digit."
NO_NAME = "I do not know your name yet."


def reply(turn, style):
    return {"plain": turn.answer, "word": turn.word, "capitals": turn.answer.upper()}[style]


def reasoning(turn, style):
    return turn.reason + {"plain": "", "word": " One word is enough.", "capitals": " I must use capital letters."}[style]


def held_out(*key):
    """One in twelve combinations is kept for the test."""
    return zlib.crc32("|".join(map(str, key)).encode()) % 12 == 0


# How a question about X is put. {x} has its article ("a KV cache"), {b} has none; {is}, {does}, {it} agree with it.
QUESTIONS = [
    "What {is} {x}?", "What {is} {x}?", "What {is} {x}?", "What {is} {b}?", "What's {x}?", "Whats {b}", "{x}", "{b}", "{b}?", "{b}: what is it?",
    "What does {b} mean?", "What is meant by {b}?", "What do you mean by {b}?", "What do you know about {x}?", "What about {x}?", "And {x}?",
    "What can you tell me about {x}?", "What {is} {x} for?", "What {is} {x} used for?", "What is the purpose of {x}?", "What is the point of {x}?",
    "What is the idea behind {x}?", "What is the meaning of {b}?", "What is the definition of {b}?", "What {does} {x} do?", "What {is} {x} good for?",
    "What kind of thing {is} {x}?", "What is special about {x}?", "What is the use of {x}?", "What is {b} all about?", "What {is} {x}, please?",
    "What {is} {x} exactly?", "What {is} {x} in simple words?", "What {is} {x} in qwen600?", "What {is} {x} in this program?",
    "What {is} {x} in a language model?", "What {is} {x} in machine learning?", "What does the term {b} mean?", "What does {b} stand for?",
    "How {does} {x} work?", "How {does} {b} work?", "How would you explain {x}?", "How would you define {b}?", "How would you describe {x}?",
    "How {is} {x} used?", "How {is} {x} useful?", "How can I understand {x}?", "How {does} {x} help?",
    "Why use {x}?", "Why do we need {x}?", "Why {is} {x} useful?", "Why {is} {x} important?", "Why {is} {x} needed?", "Why would I want {x}?",
    "Why {does} {x} matter?", "Why {is} there {x}?", "Why does qwen600 use {x}?", "Why {b}?", "When {is} {x} used?", "Where {is} {x} used?",
    "Explain {x}.", "Explain {b}.", "Explain {x} in one sentence.", "Explain {x} like I am five.", "Explain what {x} {is}.", "Explain how {x} works.",
    "Explain the idea of {b}.", "Explain the concept of {b}.", "Explain the term {b}.", "Define {b}.", "Define {x}.", "Describe {x}.", "Describe {b}.",
    "Summarize {x}.", "Tell me about {x}.", "Tell me about {b}.", "Tell me what {x} {is}.", "Tell me what {b} means.", "Tell me something about {b}.",
    "Tell me everything about {x}.", "Tell me how {x} works.", "Tell me why {x} {is} useful.", "Tell me more about {x}.", "Teach me about {x}.",
    "Give me a definition of {b}.", "Give me an overview of {x}.", "Give me a summary of {x}.", "Say something about {b}.", "Talk about {x}.",
    "Remind me what {x} {is}.", "Help me understand {x}.", "Let's talk about {x}.", "Introduce {x}.", "Clarify {b}.", "Show me what {x} {is}.",
    "Do you know what {x} {is}?", "Do you know {x}?", "Do you know anything about {x}?", "Have you heard of {x}?", "Is {b} something you know?",
    "Definition of {b}", "Meaning of {b}", "{b} definition", "{b} meaning", "{b} explained", "{b} explanation", "about {b}", "{b} please", "{b} in short",
    "I do not understand {x}.", "I don't get {x}.", "I don't know what {x} {is}.", "I want to know about {x}.", "I want to understand {x}.",
    "I want to learn about {x}.", "I need to know what {x} {is}.", "I am curious about {x}.", "I have a question about {x}.", "I wonder what {x} {is}.",
    "I heard about {x}. What {is} {it}?", "I read about {x}. What {is} {it}?", "I keep seeing {b}. What {does} {it} mean?", "Someone mentioned {x}, what {is} {it}?",
    "{x}, what {is} {it}?", "What {is} this {b}?", "So what {is} {x}?", "And what {is} {x}?", "Then what {is} {x}?", "But what {is} {x}?", "Ok, what {is} {x}?",
    "Which role {does} {x} have?", "What problem {does} {x} solve?", "What happens in {x}?", "What should I think of when I hear {b}?",
]
# More of them, as patterns of questions.py.
FRAMES = """
[what/which] [good/benefit/advantage/use] [does/has] {x} [have/bring/give/offer] | what [would happen/goes wrong/would I lose/changes/is lost] without {x} | is {x} [important/necessary/useful/needed/fast/slow/hard/complicated/a good thing/big/expensive]
what [problem/task/job] {is} {x} for | [what's/whats] the [deal/story/trick/catch/purpose/point/meaning/use/idea/benefit/goal/function/job] [with/of/behind] {x} | {x} [in a nutshell/in brief/basics/overview/summary/introduction/tutorial/help/info/details]
how [come/is it that] qwen600 [uses/has/needs] {x} | [why/how come] [does/would] [anyone/one/a program/a model/qwen600/Qwen3/it] [need/use/want/have/care about] {x} | [does/can] [qwen600/Qwen3/the program/the model/it] [use/have/support/know/do/need] {x}
[does/do] [you/Qwen3/the program] [use/know/have] {x} | [where/when/how] [do I/does one/would I/can I] [meet/see/use/find/come across/encounter/need] {x} | what [should/must/do] [I/a beginner/one] [know/remember/learn/understand] about {b}
[give/show] me [some/more/a few/the] [facts/details/information/background] [about/on] {x} | [any/some] [info/information/details/facts/idea] [on/about] {x} | [more/something/anything/all] about {x} | [info/information/details/facts/help/question] [about/on] {b}
[i/I] [have no idea/am not sure/forgot/never understood/am confused about/do not remember/don't remember/can't remember] what {x} {is} | [i/I] [am reading/was reading/read/am learning/am studying] about {x} | [i/I] [do not/don't] [really/quite/fully] [understand/get/follow] {b}
[my friend/my teacher/somebody/the readme/the code/a colleague/an article/my boss] [mentions/talks about/uses/speaks of/mentioned] {x} | [what/which] [thing/concept/idea/technique/term] is {b} | [in simple terms/in plain words/simply put/in short/basically/for beginners/in a few words], what {is} {x}
[what/so what/and what] {is} [the thing called/something like/the term/the word/this thing/the so-called/meant with/actually] {b} | [how/in which way] {is} {x} [implemented/done/computed/made/built/calculated/defined/used in practice/realized] | [what/how] {is} {x} [made of/like/related to a model/defined as/called]
[explain/describe/summarize/outline/present/sketch/discuss/illustrate/elaborate on/expand on] {x} [to me/for me/briefly/shortly/quickly/simply/in detail/like I'm five/in plain English/to a child/in your own words/] | {b} [is what/what is that/what is this/means what/for what/why/how/when/where/pls/plz/explain/huh/eh]
[could/can/would/will] [you/u] [shortly/briefly/quickly/kindly/maybe/perhaps/] [explain/describe/outline/clarify/summarize/define] {x} [for me/to me/in simple words/again/] | [who/what] [uses/needs/benefits from] {x} | [is there/do we have] [such a thing as/something called] {b}
[I'd love/I'd like/I want/I wish/I would love] to [hear/learn/find out/understand/know] [something/more/everything/a bit/] about {x} | [let me know/tell us/inform me/enlighten me/brief me/educate me/fill me in] [about/on] {x} | [what happens/what goes on/what is going on] [in/with/during/inside] {x}
[what is the/what's the] [role/function/task/importance/significance/effect/impact/influence] of {x} | [how does/in what way does] {x} [affect/influence/change/improve/help] [things/the model/the speed/the output/the program/memory/performance] | [what/how] [about/is it with] {x} | [thoughts/question] on {x}
why {does} [people/programs/models/we/they] [use/like/need/have/want] {x} | [tell me/say] [in one sentence/briefly/in short/quickly/shortly] what {x} {is} | [the/] [meaning/definition/purpose/explanation/function/use/idea/principle] of {x} | [what does it mean/what do people mean/what do they mean] [when they say/by/with] {b}
what's [{b}/{x}] [all about/good for/about/like/for/again/exactly/doing/supposed to be/in plain words] | [what/wat/wht] [is/iz/s] {b} | [explain/define/describe] {b} | [do u/do you] [know/understand] [what/how/why] {x} [works/is/matters] | how [{x}/{b}] [works/is used/helps] | what [{x}/{b}] [does/is/means]
"""
FRAMES += """[walk/talk/guide/lead/take] me through {x} | [break/write] down {x} [for me/] | [ELI5/eli5/TLDR/tl;dr/TL;DR/FAQ/ELI5:] {x} | [in layman's terms/for a layman/for newbies/in everyday language], what {is} {x} | what [purpose/goal/need] does {x} [serve/have/fulfill] | what makes {x} [useful/special/important/work/so good/necessary/clever]
what sets {x} apart | what do [people/programmers/engineers/we/they/models] use {x} for | [could/can] [someone/anybody/anyone/somebody] [explain/describe/tell me about/clarify] {x} | {x} - [what is that/what is it/what's that/explain/meaning/why/how does it work] | {x} [–/—/-] [what is it/what does it do/please explain/how does that work/any idea] | [what's/what is] {b}'s [purpose/role/job/point/use/function/meaning]
why does [Qwen3-0.6B/Qwen3/the model/a transformer/a language model/the engine/an LLM/the program/this code] [use/apply/need/rely on/include/have/want/employ/contain/go for] {x} | what does [Qwen3-0.6B/Qwen3/the model/the program/qwen600/a transformer/the engine] use {x} for | how does [the program/the engine/the model/the GPU/the code/a transformer/qwen600/Qwen3] [use/handle/deal with/implement/treat/do/benefit from/apply] {x}
what does {x} [do/bring/achieve/mean/change/give us/contribute/accomplish] [for the model/for speed/for memory/for the user/for decode/in practice/exactly/] | [I'm trying/I am trying/I try] to [understand/learn/figure out/grasp] {x} | [I saw/I found/I came across/I stumbled over/I stumbled upon/I noticed/I see] {x} [in the code/in the readme/in the docs/in the source/somewhere/in a paper/here], what {is} {it}
[what's/what is] [so special/so great/the fuss/the matter/the story/wrong/new] [about/with] {x} | [got/have you got/do you have] [any/an] [idea/clue/explanation] [what {x} {is}/about {x}/of {x}/for {x}] | how would you [summarize/explain/describe/put] {x} [in one line/to a friend/to my grandmother/to a child/in ten words/] | [where does/from where does] {x} come [in/from/into play]
[what/which] [information/facts] [can you give/do you have] [about/on] {x} | [please/kindly] [elaborate on/give details on/expand on/shed light on/comment on] {x} | [I need/I want/need/looking for/give me/got] [an explanation/a definition/help/information/a short description/a hint] [of/on/about/with/for] {x} | [question about/a word about/a few words on/one sentence about/notes on] {x} | [the topic is/my question is about/it is about/this is about] {x}
[what/which thing/what exactly] [breaks/changes/would change/happens/would I lose/gets worse/suffers] if {x} [was/is/were/gets] [turned off/off/gone/missing/removed/disabled/not there/left out] | is {x} [used/applied/done/computed/kept/needed] [in/for/by/with] [all layers/every layer/the GPU/the CPU/each token/every turn/Qwen3/qwen600/training/decode/inference] | without {x}[,/] [what happens/what would happen/what then/does it still work]
[what if there was no/can we do without/could we drop/is it possible to avoid/imagine no] {b} | [is/was] {x} [something/a thing/part] [of qwen600/of the model/in the program/here/I should know] | [let us/let's] [discuss/look at/go over/review/turn to] {x} | [next/now] [topic/up/question]: {x} | [how important/how useful/how good/how necessary] {is} {x} | [what does one/what do you] [mean by/understand by/call] {b} | {b} [= what/= ?/is?/means?/?!/, please/... what/, huh]"""
FRAMES = [frame.strip() for line in FRAMES.strip().split("\n") for frame in line.split(" | ")]
COMPARE = """[what is/what's/tell me/explain] the difference between {b} and {c} | {b} [vs/vs./versus/or] {c} | compare {b} [and/with/to] {c} | [how do/in what way do/how exactly do] {b} and {c} differ | how [does/is] {b} [differ/different] from {c}
[difference/differences/distinction/comparison/contrast] [between/of] {b} and {c} | is {b} [the same as/like/similar to/different from] {c} | what distinguishes {b} from {c} | what are {b} and {c} | explain {b} and {c} | what do {b} and {c} mean | {b} and {c}"""
COMPARE = [frame.strip() for line in COMPARE.split("\n") for frame in line.split(" | ")]

# What people put before and after a question, into it, and in place of a word.
BEFORE = """hey, /hey /ok so /ok, so /okay, /so, /well, /um, /uh, /hmm, /please, /please /hi, /hi there, /hello, /excuse me, /sorry, /listen, /btw, /by the way, /and /but /then /also, /now, /alright, /yo, /dear model, /
as a beginner, /for my homework: /my teacher asks: /I'm new here. /I am stuck. /I am new to this. /just wondering, /quick one: /one thing: /tell me, /say, /another question: /I'm curious, /I would like to ask: /let me ask: /
help! /I am confused. /no idea, /actually, /basically, /again, /last question: /next question: /first question: /great. /good. /cool. /nice, /I see. /thanks, /all right, /you know, /look, /right, /maybe you know: /oh, /ah, """
BEFORE = [b for b in BEFORE.replace("\n", "").split("/") if b.strip()]
AFTER = """please/thanks/exactly/in short/briefly/in one sentence/for a beginner/, can you explain/, I forgot/again/here/in this program/in qwen600/in your words/, if you know/then/really/, and why/and why does it matter/and how does it work/
? I am confused/? I need it for school/? Be brief/? Thanks/? Thank you/, do you know/, any idea/, please help/, can you tell me/, I wonder/, anyway/, actually/though/in general/in simple terms/in practice/in a language model/in Qwen3/, buddy/
, my friend/, and what is it for/? I have no idea/? Explain it simply/? Keep it short/, in plain English/for dummies/in a nutshell/? I'm curious/these days/in detail/and what does it do"""
AFTER = [a if a[0] in ",?" else " " + a for a in AFTER.replace("\n", "").split("/")]
AROUND = """a transformer/transformers/an LLM/LLMs/LLM inference/Qwen3-0.6B/a neural network/neural networks/deep learning/the model/this engine/the code/the readme/AI/a language model/language models/inference/qwen600/this project/practice/the docs/
an inference engine/this software/your program/the source code/machine learning""".replace("\n", "").split("/")
INSIDE = "really actually basically just even usually normally typically generally simply always only maybe then here now still also".split()
SYNONYMS = [line.split("/") for line in """explain/describe/clarify/outline
reply/answer/response
conversation/chat/dialog
big/large/huge
fast/quick/rapid
need/require
important/crucial/essential/relevant
show/display/present
choose/pick/select
stop/end/halt
begin/start
make/create/produce
use/employ/utilize/apply
how do I/how can I/how would I/how could I/how to/how should I/how might I/what is the way to
what is/what's/whats/what was
why is/why's/how come
the program/the engine/qwen600/the tool/this software/this program
the model/Qwen3/the network/this model/the LLM
which/what
get/obtain
many/lots of
keep/hold/store
computed/calculated/worked out
works/functions/operates
program/software/application/app
do not/don't/dont
can not/cannot/can't/cant
useful/helpful/handy
purpose/goal/aim/intention
idea/concept/notion
tell me/let me know/inform me
say/state/write
change/modify/alter/adjust
find/locate
happens/occurs/takes place
difference/distinction
used/utilized/applied
understand/grasp/get""".split("\n")]
SYNONYMS = {word: line for line in SYNONYMS for word in line}
SYNONYM = re.compile(r"\b(" + "|".join(sorted(map(re.escape, SYNONYMS), key=len, reverse=True)) + r")\b")

# Requests are put together from three parts.
ASK = ["Please ", "Can you ", "Could you ", "Would you ", "Can you please ", "Could you please ", "I want you to ", "I'd like you to ", "Will you ",
       "You should ", "Try to ", "Now ", "Can u ", "pls "]
VERB = ["explain {x}", "explain {b}", "describe {x}", "define {b}", "tell me about {x}", "tell me what {b} means", "explain what {x} {is}",
        "say what {x} {is}", "help me understand {x}", "give me an explanation of {x}", "summarize {x}", "clarify {x}", "teach me {x}",
        "explain how {x} works", "tell me how {x} works", "explain why we need {x}", "give a definition of {b}", "talk about {x}"]
TAIL = ["", "", "", " to me", " in short", " briefly", " for me", " in simple words", " to a beginner", " in one sentence", " again", " quickly"]

TEST_QUESTIONS = [
    "Could you tell me what {x} {is}?", "What exactly {is} {x}?", "Please tell me what {x} {is}.", "I would like to know what {x} {is}.",
    "Give me a short explanation of {x}.", "What should I know about {x}?", "Explain to me what {x} {is}.", "What role {does} {x} play?",
    "I have never heard of {x}. What {is} {it}?", "How do you explain {x}?", "Can you say what {b} means?", "Hey, what {is} {x}?",
]

WRAPPERS = ["Please tell me: {q}", "Hi! {q}", "Hello. {q}", "{q} Please.", "Question: {q}", "Can you tell me: {q}", "I have a question: {q}",
            "Quick question: {q}", "So: {q}", "OK. {q}", "One more question: {q}", "{q} Thanks!", "{q} Thank you.", "Now tell me: {q}", "Next: {q}",
            "I wonder: {q}", "Another one: {q}", "{q} I want to know.", "Just curious: {q}", "{q} Explain, please.", "Good. {q}", "Thanks. {q}", "{q} Tell me."]

CHINESE_QUESTIONS = ["什么是{b}?", "{b}是什么?", "解释一下{b}。", "请解释{b}。", "{b}是什么意思?", "介绍一下{b}。", "告诉我什么是{b}。", "{b}有什么用?",
                     "为什么要用{b}?", "{b}怎么工作?", "说说{b}", "什么叫{b}?", "请介绍{b}", "解释{b}", "我想了解{b}。", "{b}的作用是什么?", "{b}", "能解释一下{b}吗?",
                     "请告诉我{b}是什么。", "你知道{b}吗?", "{b}是做什么的?", "为什么需要{b}?", "如何理解{b}?", "简单介绍{b}。"]
CHINESE_TEST = ["请问{b}是什么?", "你能解释一下{b}吗?", "请说明什么是{b}。"]

# Subjects that the model must not pretend to know, and other ways to ask about them.
SUBJECTS = [s.strip() for s in """
a giraffe; an elephant; a cat; a dog; a whale; a tiger; an eagle; a penguin; a spider; a butterfly; a shark; a horse; a cow; a rabbit; a snake; a dinosaur;
a tree; a flower; a rose; a mushroom; grass; an apple; a banana; an orange; a tomato; a potato; rice; bread; cheese; chocolate; coffee; tea; wine; beer;
pizza; pasta; sushi; soup; salad; sugar; salt; pepper; honey; milk; butter; ice cream; a cake; a sandwich; a burger;
France; Germany; Italy; Spain; Japan; China; India; Brazil; Canada; Australia; Russia; Egypt; Mexico; Norway; Sweden; Poland; Greece; Turkey; Kenya; Peru; Chile;
Paris; London; Berlin; Rome; Madrid; Tokyo; Beijing; New York; Moscow; Cairo; Sydney; Vienna; Prague; Lisbon; Dublin; Oslo; Chicago; Boston; Texas; California;
Europe; Africa; Asia; the Moon; the Sun; Mars; Jupiter; Saturn; a planet; a star; a galaxy; a black hole; the universe; gravity; a comet; the Milky Way; an eclipse;
the ocean; the sea; a river; a mountain; a volcano; an earthquake; the weather; rain; snow; wind; thunder; a rainbow; the climate; a desert; a forest; an island;
photosynthesis; evolution; DNA; a cell; an atom; a molecule; oxygen; hydrogen; water; fire; electricity; magnetism; light; sound; heat; energy; time; space;
relativity; quantum mechanics; chemistry; physics; biology; mathematics; algebra; geometry; calculus; a triangle; a circle; pi; a prime number; infinity; statistics;
philosophy; religion; love; happiness; friendship; freedom; justice; democracy; money; inflation; the economy; a bank; a stock; Bitcoin; blockchain; a tax; a loan;
history; the French Revolution; World War II; the Roman Empire; the Middle Ages; the Cold War; the pyramids; the Great Wall; a king; a queen; a president; a pope;
Napoleon; Einstein; Newton; Shakespeare; Mozart; Beethoven; Picasso; Plato; Cleopatra; Gandhi; Darwin; Galileo; Columbus; Churchill; Lincoln; Obama; Elon Musk;
music; jazz; rock music; a guitar; a piano; a violin; a drum; opera; ballet; dance; painting; sculpture; poetry; a novel; a film; a movie; Star Wars; Harry Potter;
Hamlet; the Bible; football; soccer; tennis; basketball; chess; golf; swimming; running; yoga; the Olympics; the World Cup; poker; a car; a train; an airplane;
a ship; a bicycle; a rocket; a bridge; a house; a castle; a church; a school; a university; a hospital; a doctor; a lawyer; a teacher; a farmer; a soldier;
medicine; a virus; a vaccine; cancer; a headache; the heart; the brain; a bone; sleep; a dream; a vitamin; a diet; the Internet; a website; email; a phone; a camera;
television; radio; a robot; Windows; macOS; Android; an iPhone; Google; Amazon; Facebook; Twitter; Netflix; Microsoft; Apple; Tesla; Docker; Kubernetes; SQL;
a database; HTML; JavaScript; Java; Ruby; Haskell; Perl; Excel; Photoshop; Minecraft; Tetris; Pokemon; TCP; DNS; HTTP; Wi-Fi; Bluetooth; a firewall; a password;
a compiler bug; recursion; a linked list; quicksort; a hash table; a binary tree; a regular expression; an operating system; Linux; Git branches; Kafka; React;
dropout; a convolution; an LSTM; a GAN; backpropagation; ReLU; RMSProp; Adam; k-means; a decision tree; reinforcement learning; a diffusion model; computer vision;
word2vec; BERT; ResNet; a random forest; gradient descent; speech recognition; self-driving cars; Siri; Alexa; a calculator; a printer; a keyboard; a monitor;
Christmas; Easter; a birthday; a wedding; a holiday; summer; winter; Monday; midnight; yesterday; tomorrow; the future; life; death; the soul; a ghost; a dragon;
gardening; cooking; knitting; fishing; camping; hiking; surfing; skiing; photography; fashion; makeup; shoes; a hat; a shirt; jewelry; perfume; furniture; a sofa; a lamp; a mirror;
a window; a garden; a lawn; a bee; an ant; a frog; a lizard; a turtle; a parrot; a wolf; a bear; a fox; a deer; a mouse; a pig; a sheep; a goat; a chicken; a duck; an owl; a crow; a worm;
a strawberry; a lemon; a grape; a peach; an onion; garlic; a cucumber; a bean; corn; wheat; an egg; bacon; a steak; a sausage; fish; shrimp; vanilla; cinnamon; a cookie; a pie; a donut;
Ireland; Scotland; Denmark; Austria; Hungary; Ukraine; Iran; Iraq; Israel; Vietnam; Thailand; Korea; Indonesia; Nigeria; Cuba; Colombia; Morocco; Ethiopia; Iceland; Switzerland; Belgium;
Los Angeles; San Francisco; Seattle; Miami; Munich; Hamburg; Barcelona; Milan; Athens; Istanbul; Mumbai; Delhi; Shanghai; Hong Kong; Singapore; Toronto; Buenos Aires; Amsterdam; Brussels;
Mercury; Neptune; Pluto; an asteroid; a satellite; a telescope; a microscope; a spaceship; an astronaut; a cloud; fog; ice; a glacier; a lake; a beach; a cave; a jungle; a valley; a waterfall;
mixture of experts; beam search; batch normalization; sliding window attention; RAG; a vector database; ALiBi; Mamba; RLHF; DPO; distillation; pruning; a TPU; ROCm; Vulkan; OpenCL; an FPGA;
Triton; vLLM; TensorRT; ONNX; a spanning tree; dynamic programming; a stack; a queue; a pointer to a function; a virtual machine; a web browser; a search engine; a spreadsheet; cloud computing;
cryptography; RSA; a digital signature; a cookie banner; a spam filter; a neural implant; a support vector machine; logistic regression; a Boltzmann machine; a perceptron; a Markov chain;
a polynomial; a derivative; an integral; a fraction; a theorem; Pythagoras; Euclid; a logarithm; trigonometry; topology; a group in algebra; a set; a graph in mathematics; probability theory;
Mandela; Einstein's theory; Marie Curie; Stalin; Hitler; Caesar's death; Alexander the Great; Confucius; Buddha; Jesus; Moses; Socrates; Aristotle; Kant; Nietzsche; Freud; Marx; Tolstoy; Goethe;
Mickey Mouse; Batman; Superman; Spider-Man; James Bond; Sherlock Holmes; Dracula; Gandalf; Darth Vader; Taylor Swift; Madonna; Elvis; the Beatles; Queen; Michael Jackson; Lady Gaga; Messi; Ronaldo;
a passport; a visa; a ticket; a hotel; a restaurant; a supermarket; a pharmacy; a bakery; a museum; a library card; a job interview; a salary; a pension; insurance; a mortgage; a contract; an election;
a parliament; a war; peace; a revolution; slavery; feudalism; capitalism; communism; a constitution; a court; a police officer; a fireman; a nurse; a dentist; a pilot; a sailor; a cook; an actor; a dancer;
anger; fear; envy; courage; hope; trust; beauty; truth; wisdom; intelligence; consciousness; memory loss; pain; a cough; a fever; a broken leg; diabetes; an allergy; an antibiotic; surgery; a tooth;
a unicorn; a vampire; a wizard; a pirate; a ninja; a knight; a joke; a riddle; a secret; a lie; red; blue; gold; silver; iron; a diamond; glass; paper; wood
""".replace("\n", " ").split(";")]
NOUNS = """ability account acid actress advantage adventure advice afternoon agency agreement airport album alcohol alley ambition ambulance amusement anchor angel angle
ankle anniversary antenna apartment apology appetite applause appointment apricot apron aquarium arch arena armchair armor army arrow artichoke artist ash
asphalt athlete attic auction audience aunt autumn avalanche avocado award axe baby backpack badge badger ballad balloon bamboo banjo banner barber bark barn
barrel basement basin basket bat bath battery battle bay beard beaver bed beetle belief bell belt bench berry bet billboard bishop bison blanket blizzard
blossom blouse boat bomb boot bottle boulder bowl bracelet branch brass bread knife breakfast breath brick bride broom brush bubble bucket budget buffalo bull
bumblebee bus bush butcher button cabbage cabin cable cactus cage calendar calf camel campfire canal canary candle candy cannon canoe canyon cape captain
caravan cardboard cardigan career cargo carnival carol carpenter carpet cart cartoon cashew cattle cauliflower cedar ceiling celery cello cemetery cement
century ceremony chain chair chalk champion chapel charity cheek cheetah cherry chess club chest chestnut chicken soup chimney chimpanzee chin choir cigar
cinema circus citizen clarinet clay cliff clinic clock cloth clover clown coach coal coast coat cobra cockroach coconut coin collar college colonel comb
comedy concert condor cone conference continent convent coral cork cottage cotton couch cough cousin coyote crab cradle crane crayon cream cricket crime
crocodile crown cruise crystal cuckoo cup curry curtain cushion customer cyclone daffodil dagger dairy daisy dam dandelion dawn debt decade deck defense
degree dentures depot deputy desk dessert detective dew dialect diary dice dinner diplomat dirt disease dish dive dock dolphin donkey door dough dove dozen
drama drawer dress drill drum kit dust duty dwarf ear eel elbow elevator elk embassy emerald emperor empire driver envelope museum estate exam exhibition
explosion eyebrow fabric factory fairy falcon family farm fashion show father feather fence fern ferry festival fiddle field finger fir fireplace fist flag
flame flamingo flannel flea fleet flood floor flour flute foal fog horn folklore foot forehead fork fortress fountain freckle freezer friend frost fruit
fungus fur gallery gallon gander gang garage garbage garlic gasoline gate gazelle gem general genius geography ghost story giant gift gin giraffe neck girl
glacier lake glove glue goal gondola goose gorilla gossip gown grain granddaughter grandfather granite grasshopper gravel gravy grocery guest guide dog guinea
pig gull gum gymnast gypsy hail hair hall ham hammer hammock hamster hand handkerchief harbor hare harp harvest hat shop hawk hay hazelnut heaven hedge
hedgehog heel helmet hen herb herd hero heron herring highway hill hip hippo hobby hockey hole homework honeymoon hood hoof hook hornet hose hostel hotel bar
hour housewife hut hyena hymn icicle iguana illness infant ink inn insect invention iris ivory ivy jacket jaguar jail jam jar jasmine jeans jelly jellyfish
jet journalist journey judge jug juice jury kebab kettle kid kingdom kiosk kiss kitchen kite kitten kiwi knee knot koala laboratory lace ladder lady lamb
landlord lane lantern lap larch lark laundry lava lavender leaf leather leek leg legend lemonade leopard letter lettuce lid lighthouse lilac lily limb lime
limousine linen lion lip lipstick liver llama lobster lock locomotive locust lollipop lorry lotus louse lumber lunch lung lynx magazine magician magnet
mahogany maid mail mango manor mansion maple marathon marble margarine market marmalade marriage marsh ball mason mast match mattress mayor meadow meal meat
medal melon menu merchant meteor metal midwife milkshake mill miner mineral minister mint minute miracle mist moat mole monastery monk monkey monster moose
mosquito moss motel moth mother motor motorcycle moustache mouth mud muffin mule muscle musician mussel mustard mutton nail nap napkin navy necklace needle
neighbor nephew nest newspaper niece night nightingale noodle noon nose novelist nun nut oak oar oasis oat oil olive omelet orbit orchard orchestra orchid
organ orphan ostrich otter oven overcoat oyster package paddle boy pain killer pajamas palace palm pan panda pansy panther papaya parachute parade paradise
parcel park parrot parsley party passenger pasture path patient patrol pea peacock peanut pear pearl pebble pedal peel pen pencil peninsula penny pepperoni
perch period perfume pet petal pheasant piano tuner picnic pier pigeon pillow pin pine pineapple pipe pistol pitcher pizza planet earth plaster plate platform
plum plumber pocket pond pony porch porridge port postcard poster potter pottery pouch poultry powder prairie prayer priest prince princess prison prize
professor propeller prophet province puddle pudding puma pumpkin puppet puppy purse puzzle pyjamas quail quarry quarter quilt quiz racket radish raft railway
raisin rake ram ranch raspberry rat raven razor recipe reef referee reindeer relative reptile reservoir rib ribbon rice rifle ring rink roast robe robin
rocket science rod roof rooster root route rug rugby ruin rum runway rye sack saddle safari sail saint salmon saloon sandal sandstone sardine satin sauce
saucer sauna savanna saw saxophone scarf scarecrow scissors scooter scorpion screw sculptor seagull seal season seat seaweed secretary shampoo shed shelf
shell shepherd sheriff shield shin shirt shore shoulder shovel shower shrub siege silk silver spoon singer sink sister skate skeleton sketch skirt skull skunk
sky skyscraper sled sleeve slipper sloth slug snail snake bite sneaker snowman soap soccer sock soda soil soldier ant song sour soy spa spaghetti spade
sparrow spear speech spice spinach spine spirit sponge spring spruce squash squid squirrel stadium stain stair stallion stamp starfish station statue steam
steel stem stew stool stork storm stove straw stream street student sugar cane suit suitcase sunflower sunset surgeon swamp swan sweater swimmer sword
sycamore syrup tablecloth tail tailor talent tank tangerine tap target tart taxi teapot tear teaspoon tent terrace theater thief thigh thistle thorn throat
throne thumb thunderstorm tide tie tiger shark timber tin toad toast tobacco toe toilet tomb tongue tornado tortoise tourist towel tower town toy tractor
trail trainer tram trap treasure trombone trophy trousers trout truck tuba tulip tuna tunnel turkey turnip twig twin typewriter uncle uniform vacation van
vase vegetable veil vest veteran village villa vine vinegar viola violet volleyball voyage vulture waffle waist waiter wallet walnut walrus warehouse wasp
watch watermelon wave wax weasel wedding weed weekend whip whiskey whistle widow wife wig willow wing winner witch woman wool workshop wound wreath wreck
wrestler wrist yacht yard yarn yogurt zebra zipper zoo""".split()
SUBJECTS += [("an " if noun[0] in "aeiou" else "a ") + noun for noun in NOUNS]
TEST_SUBJECTS = """a kangaroo; Portugal; Venus; the Eiffel Tower; a volcano eruption; a trumpet; Julius Caesar; cricket; a pancake; a submarine; an umbrella;
thermodynamics; Instagram; PHP; Leonardo da Vinci; a mermaid; a carrot; Finland; baseball; a helicopter; an octopus; Argentina; a sonnet; a hurricane; copper;
a kidney; Halloween; a refrigerator; a giant squid; Mongolia""".replace("\n", " ").split(";")
TEST_SUBJECTS = [s.strip() for s in TEST_SUBJECTS]
STRANGE = [
    "What is the capital of {b}?", "Who invented {x}?", "Who discovered {x}?", "When was {x} invented?", "Where can I find {x}?", "How old is {x}?", "How big is {x}?",
    "How do I cook {b}?", "How do I make {x}?", "How do I get to {b}?", "How much does {x} cost?", "How many people live in {b}?", "Who won {x}?", "Who is {b}?",
    "Who was {b}?", "Where is {b}?", "When did {b} begin?", "Is {x} dangerous?", "Do you like {b}?", "Have you ever seen {x}?", "Can I eat {b}?", "Write a poem about {b}.",
    "Write a story about {x}.", "Write an essay on {b}.", "Tell me a joke about {b}.", "Translate {b} into French.", "What color is {x}?", "What is the history of {b}?",
    "What do you think of {b}?", "Which is better, {b} or {c}?", "What is the difference between {b} and {c}?", "Is {x} bigger than {y}?", "Draw {x}.", "Sing about {b}.",
    "Where does {x} come from?", "What does {x} eat?", "How long does {x} live?", "Who likes {b}?", "I like {b}.", "I love {b}.", "I hate {b}.", "I bought {x}.",
    "My favorite thing is {b}.", "Where can I buy {x}?", "Can you recommend {x}?", "Is there life on {b}?", "What is the best {b}?", "How far is {b}?", "How do I learn {b}?",
    "What is the population of {b}?", "Who is the president of {b}?", "What is the weather in {b}?", "What time is it in {b}?", "Buy me {x}.", "Give me a recipe for {b}.",
    "Play {b}.", "What is {b} made of?", "List three facts about {b}.", "What rhymes with {b}?", "Spell {b}.", "Is {b} real?", "Are you afraid of {b}?", "Let us go to {b}.",
    "What happened in {b} last year?", "Name a famous {b}.", "Does {x} have legs?", "Which city is the capital of {b}?", "How is {x} made?", "Why is {x} so popular?",
]
TEST_STRANGE = ["What is the currency of {b}?", "How heavy is {x}?", "Tell me a story about {x}.", "Can you write a song about {b}?", "When was {b} born?"]
FIXED_STRANGE = ["Tell me a joke.", "What time is it?", "What day is it today?", "What is the weather like?", "Who won the world cup?", "Sing a song.", "Write a poem.",
                 "What is the meaning of life?", "Where do I live?", "How old am I?", "How tall am I?", "What is my favorite color?", "What did I eat today?",
                 "I am hungry.", "I am tired.", "I am sad.", "I'm bored", "I am happy today.", "I feel sick.", "I'm a student.", "I am a programmer.", "Do you love me?",
                 "Will it rain tomorrow?", "What is the news?", "Open the door.", "Call my mother.", "What is the square root of two?", "Write a program.",
                 "Write some code for me.", "Translate this sentence.", "Tell me a story.", "Who is the president?", "Can you drive a car?", "Are you married?",
                 "What is your favorite color?", "Where do you live?", "How old are you?", "Do you have friends?", "Do you sleep?", "What is my age?", "What is my job?",
                 "Who is my mother?", "What are you wearing?", "Who are my friends?", "Guess a number.", "Flip a coin.", "Play a game with me.", "Say a bad word.",
                 "What is the answer to everything?", "Who wrote Hamlet?", "How many continents are there?", "Why is the sky blue?", "Count to ten."]
OTHER_STRANGE = [pattern.strip() for line in """
[what/which] [colour/shape/sound/smell/taste/size/weight] [has/does] {x} [have/] | how [long/tall/deep/fast/far/wide/hot/cold/rich/strong] is {x} | [who/which person] [built/wrote/painted/owns/founded/designed/sings/directed/made/found] {x} | [when/why/how] did {x} [die/end/start/happen/become famous/disappear]
[how/where] [can I/do I/should I/does one] [buy/fix/repair/clean/sell/cook/grow/catch/draw/paint/build/wash/feed/train] {x} | [is/are] {b} [good/bad/healthy/edible/alive/expensive/dead/beautiful/religious/legal/poisonous/famous] | [do/does] {b} [fly/swim/sleep/grow/smell/sing/bite/talk/exist]
[can/could/would] you [draw/sing/cook/bring/buy/sell/find/book/order/call/paint/play] [me/us/] {x} | [write/compose/invent/make up/tell me] [a poem/a story/a song/a joke/an essay/a letter/a haiku/a fairy tale/a speech] [about/on/for] {x} | [translate/spell/pronounce] {b} [in/into] [Spanish/German/French/Latin/Italian]
[I/we/my mother/my brother/she/he] [saw/ate/bought/lost/found/want/need/has/had/met/visited] {x} [yesterday/today/last week/again/] | [should/shall] I [eat/buy/marry/visit/sell/study/see/learn] {x} | [what is/what's] the [capital/population/language/king/president/flag/currency/area/weather/temperature outside/national animal] [of/in] {b}
[what/which] [animals/people/countries/things/food/plants] [live in/like/eat/come from/hate] {b} | how many [legs/people/years/days/kilometers/players/moons/strings/wheels/calories/teeth/children] [has/are in/does] {x} [have/] | what [happened/will happen] [to/in/with] {x} [in 1969/next year/in the war/yesterday/]
[who/what] [won/lost/killed/invented/discovered] [the/] {b} [in 2020/last year/] | [recommend/suggest] [me/] {x} | [my favorite/the best/the worst/a famous] [song/book/film/food/game/place] [is/about] {b} | {b} [price/recipe/lyrics/news/history/jokes/map/pictures/facts/weather] | where [is/was/are] {x} [born/located/made/from/sold/]
""".strip().split("\n") for pattern in line.split(" | ")]
CHINESE_SUBJECTS = "猫;狗;北京;上海;法国;日本;月亮;太阳;苹果;米饭;足球;音乐;电影;天气;历史;数学;爱情;飞机;汽车;大象;春节;孔子;长城;咖啡;茶;区块链;医生;老虎".split(";")
CHINESE_STRANGE = ["{b}的首都是哪里?", "你喜欢{b}吗?", "写一首关于{b}的诗。", "{b}多少钱?", "今天{b}怎么样?", "谁发明了{b}?", "{b}在哪里?", "给我讲个{b}的笑话。"]

# Names.
NAMES = """Ada Alan Grace Linus Dennis Ken Brian Donald Edsger Barbara Margaret John Mary James Robert Linda Michael William David Richard Susan Joseph Thomas
Charles Karen Lisa Nancy Betty Sandra Ashley Emily Kimberly Donna Carol Amanda Melissa Deborah Stephanie Rebecca Laura Sharon Cynthia Kathleen Amy Angela Anna
Ruth Brenda Pamela Nicole Katherine Virginia Catherine Christine Samantha Debra Janet Rachel Carolyn Emma Maria Heather Diane Julie Joyce Evelyn Joan Victoria
Kelly Christina Lauren Frances Martha Judith Cheryl Megan Andrea Olivia Ann Jean Alice Jacqueline Hannah Doris Kathryn Gloria Teresa Sara Janice Julia Marie
Madison Judy Theresa Beverly Denise Marilyn Amber Danielle Rose Brittany Diana Abigail Natalie Jane Lori Alexis Tiffany Kayla Paul Mark George Steven Kenneth
Andrew Edward Joshua Kevin Ronald Timothy Jason Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel Gregory Frank
Raymond Alexander Patrick Jack Jerry Tyler Aaron Jose Adam Nathan Henry Douglas Zachary Peter Kyle Walter Ethan Jeremy Harold Keith Christian Roger Noah Gerald
Carl Terry Sean Austin Arthur Lawrence Jesse Dylan Bryan Joe Jordan Billy Bruce Albert Willie Gabriel Logan Juan Wayne Roy Ralph Randy Eugene Vincent Russell
Elijah Louis Bobby Philip Johnny Hans Fritz Greta Heidi Jürgen Zoë Chloé René Søren Björn Åsa Ingrid Olaf Sven Lars Nils Pierre Claude Luc Marcel Giulia Marco
Paolo Chiara Sofia Carlos Diego Lucia Pablo Ivan Olga Dmitri Natasha Yuri Aiko Hiroshi Kenji Yuki Sakura Wei Li Ming Hua Raj Priya Amit Sunita Ali Omar Fatima
Layla Hassan Amina Kofi Zuri Tariq Leila Mei Jin Min Soo Park Kim Tom Tim Ben Max Leo Mia Zoe Eva Ida Ian Ron Don Sam Dan Bob Bill Jim Kate Beth Meg Sue""".split()
TEST_NAMES = """Ludwig Matilda Konrad Felicity Otto Beatrice Ravi Simone Hugo Astrid Quentin Nadia Felix Clara Viktor Rosalind Pedro Yasmin Boris Agnes Mateo Ursula
Oscar Fiona Stefan Camille Igor Paula Cedric Miriam Rupert Tessa Emil Naomi Anton Gwen Marvin Elsa Jasper Lydia""".split()
SYLLABLES = [c + v for c in "b c d f g h j k l m n p r s t v w z ch sh th br tr st kr".split() for v in "a e i o u ai ee ou".split()]
ENDINGS = ["", "", "n", "l", "r", "s", "m", "t", "x", "nd", "ck", "ra", "lin", "dor", "ton", "ius", "bel"]
CHINESE_NAMES = [a + b for a in "王李张刘陈杨赵黄周吴" for b in ("明", "伟", "芳", "丽", "强", "小红", "小明", "建国", "海", "雪")] + ["小明", "小红", "小王", "小李"]
CHINESE_GIVE = ["我叫{n}。", "我的名字是{n}。", "我是{n}。", "你好,我叫{n}。", "我叫{n}", "叫我{n}吧。"]
CHINESE_ASK = ["我叫什么名字?", "我叫什么?", "你知道我的名字吗?", "我是谁?", "你记得我的名字吗?", "我的名字是什么?"]

GIVE_NAME = ["My name is {n}.", "My name is {n}.", "my name is {n}", "I am {n}.", "I'm {n}.", "Im {n}", "Call me {n}.", "Please call me {n}.", "You can call me {n}.",
             "Hi, I am {n}.", "Hi, I'm {n}.", "Hello, my name is {n}.", "Hello, I'm {n}!", "I am called {n}.", "The name is {n}.", "My name's {n}.", "Hi! My name is {n}.",
             "Hey, {n} here.", "This is {n}.", "It's me, {n}.", "Remember my name: {n}.", "My first name is {n}.", "People call me {n}.", "Everyone calls me {n}.",
             "From now on call me {n}.", "Good morning, I am {n}.", "Let me introduce myself: I am {n}.", "Hello there, my name is {n}", "I go by {n}.", "Just call me {n}."]
MORE_GIVE = ["[hi/hello/hey/good day/good evening/greetings/yo/hi there][,/!/.] [I am/I'm/my name is/my name's/this is/it's/im/i am] {n}[./!/]", "[please/pls/] [remember/note/keep in mind/don't forget] [that/] [my name is/I am/I'm called/I am called] {n}[./!/]",
             "[everybody/my friends/my family/my colleagues/they/folks] [call/calls] me {n}[./]", "[my/the] [name/full name/nickname/first name/user name] [is/would be/:] {n}[./!/]", "[I/i] [was named/was christened/answer to the name/bear the name/am known as/introduce myself as] {n}[.//]",
             "[so/ok/well/btw/by the way/oh/and], [my name is/I am/I'm/call me] {n}[./!/]", "{n} [is my name/is what they call me/is how I am called/here/is the name][./!/]", "[let's start/first things first/before we begin/before I ask]: [my name is/I am/I'm] {n}[./]",
             "[you/u] [can/should/could/must] [call/name/address] me {n}[./ please/]", "[I want/I'd like/I would like] you to call me {n}[./]", "[from now on/today/for now] I am {n}[./]", "[my parents/they] [named/called] me {n}[./]"]
TEST_GIVE = ["Hey! I'm called {n}.", "Hello! You may call me {n}.", "Nice to meet you, my name is {n}."]
ASK_NAME = ["What is my name?", "What is my name?", "What's my name?", "Do you know my name?", "Who am I?", "Do you remember my name?", "Tell me my name.", "What am I called?",
            "Say my name.", "What was my name again?", "Can you tell me my name?", "Do you remember who I am?", "Do you know who I am?", "what is my name", "Whats my name",
            "What did I say my name was?", "My name?", "Please tell me my name.", "How do you call me?", "Which name did I give you?", "What name did I tell you?",
            "Can you remember my name?", "And what is my name?", "So what is my name?", "Have I told you my name?", "Please say my name.", "How am I called?"]
MORE_ASK = ["[what/which] [is/was] [my/the] name [again/now/please/of mine/I told you/I gave you/that I told you/][?/]", "[do/can/could/will/would] you [please/] [know/remember/recall/repeat/state/tell/guess/write] [my name/who I am/what I am called/how I am called/what my name is][?/]",
            "[hey/ok/so/and/now/well/by the way/one more thing/please], [what is my name/who am I/what's my name/what was my name/tell me my name/do you know my name/do you remember me][?/]", "[what/how] [did I say/did I tell you/do you call me/am I called/do people call me/should you call me][?/]",
            "[did you forget/have you forgotten/did you note/have you got/are you sure of/did I tell you/did I mention/have I said] my name[?/]", "[I forgot/remind me of/repeat/write/print/spell out/give me/quick,] my name[, please/./?/]", "[what/which] [name] did I [give/tell you/say/mention/introduce myself with][?/]",
            "[who/whom] are you [talking to/speaking with/talking with/speaking to/chatting with/helping][?/]", "[under which name do you know me/what do you call me/how am I named/what name do I have/by what name do I go][?/]", "[my name/name of the user/what name/the name of the user][?/]"]
TEST_ASK = ["Could you remind me what my name is?", "Do you still know my name?", "Can you say my name?"]

SUMS = ["What is {a}{o}{b}?", "What is {a} {o} {b}?", "{a}{o}{b}", "{a} {o} {b}", "{a}{o}{b}?", "{a} {o} {b} = ?", "{a}{o}{b}=", "{a} {o} {b} =", "What is {a} {w} {b}?",
        "{a} {w} {b}", "How much is {a}{o}{b}?", "How much is {a} {w} {b}?", "Calculate {a} {o} {b}.", "Compute {a}{o}{b}.", "What's {a} {w} {b}?", "Tell me {a} {o} {b}.",
        "What does {a} {o} {b} make?", "what is {A} {w} {B}?", "What is {A} {w} {B}?", "{A} {w} {B}", "How much is {A} {w} {B}?", "Please calculate {a}{o}{b}.",
        "Can you calculate {a} {o} {b}?", "Do you know what {a} {w} {b} is?", "What is the answer to {a} {o} {b}?", "Solve {a} {o} {b}.", "And {a} {o} {b}?",
        "Work out {a} {w} {b}.", "{a} {o} {b} equals what?", "What's {A} {w} {B}?", "What does {a} {w} {b} equal?"]
ADD = ["Add {a} and {b}.", "What is the sum of {a} and {b}?", "sum of {a} and {b}", "Add {A} and {B}.", "What do {a} and {b} make?", "What do I get if I add {a} and {b}?", "{A} and {B}"]
SUBTRACT = ["Subtract {b} from {a}.", "What is {a} take away {b}?", "Take {b} away from {a}.", "What is the difference of {a} and {b}?", "{a} less {b}", "Subtract {B} from {A}."]
TEST_SUMS = ["What is the result of {a} {o} {b}?", "Can you work out {a}{o}{b}?", "Could you tell me what {a} {w} {b} is?", "How much would {A} {w} {B} be?"]
WORDS = [re.sub("[^a-z]", "", word.lower()) or "word" for word in NAMES + NOUNS]
DIGITS = "zero one two three four five six seven eight nine".split()
CHINESE_SUMS = ["{a}{c}{b}等于几?", "{a} {o} {b} 等于多少?", "{a}{c}{b}是多少?", "{a}{o}{b}等于几?", "请算一下{a}{c}{b}。"]

WORD_PROMPTS = [ONE_WORD] * 6 + ["Answer with one word.", "Please answer in one word.", "Reply in one word.", "Always answer in a single word.", "Use only one word.",
                                 "You answer in one word.", "answer in one word", "Answer in one word only.", "Give one-word answers."]
CAPITAL_PROMPTS = [CAPITALS] * 6 + ["Answer in capitals.", "Please answer in capital letters.", "Reply in capital letters.", "Always use capital letters.",
                                    "Write in upper case.", "You answer in capital letters.", "answer in capital letters", "Use only capital letters."]
ROLES = "assistant;teacher;expert;pirate;robot;friend;tutor;engineer;writer;chatbot;guide;scientist;programmer;librarian;coach;poet".split(";")
MANNERS = "helpful;friendly;kind;polite;careful;honest;terse;clever;patient;cheerful;serious;short;concise;precise;funny;calm;useful;wise".split(";")
NEUTRAL = ["You are a {m} {r}.", "You are a {m} and {m2} {r}.", "Be {m}.", "Be {m} and {m2}.", "You are a {r}.", "Act as a {m} {r}.", "Answer the questions of the user.",
           "You are a helpful assistant.", "You are qwen600-tiny.", "You explain the program qwen600.", "Answer questions about qwen600.", "Be brief.", "Answer briefly.",
           "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", "The user is a beginner.", "Speak to the user like a {m} {r}.", "You help with questions.",
           "Keep your answers short.", "Answer truthfully. If you do not know, say so.", "You are a {m} AI.", "Talk like a {r}.", "Please be {m}."]


def bare(name):
    return re.sub(r"^(a|an|the) ", "", name)


def fill(template, name, other="that"):
    plural = name.startswith("+")
    name = name.lstrip("+")
    return template.format_map({"x": name, "b": bare(name), "y": other, "c": bare(other), "is": "are" if plural else "is",
                                "does": "do" if plural else "does", "it": "they" if plural else "it"})


def question_template(rng):
    draw = rng.random()
    if draw < 0.4:
        return rng.choice(QUESTIONS)
    if draw < 0.8:
        return rng.choice(FRAMES)
    while True:
        asked, verb = rng.choice(ASK), rng.choice(VERB)
        end = "?" if re.match("Can|Could|Would|Will", asked) else "."
        template = asked + verb + rng.choice(TAIL) + end
        if template not in TEST_QUESTIONS:
            return template


def typo(rng, text):
    """Drops, doubles or swaps letters inside one longer word."""
    places = [m.start() for m in re.finditer(r"(?<=[A-Za-z]{2})[a-z](?=[a-z]{2})", text)]
    if not places:
        return text
    i = rng.choice(places)
    letter, following = text[i], text[i + 1]
    return text[:i] + rng.choice([following, letter * 2 + following, following + letter]) + text[i + 2:]


def sentence(rng, text):
    """A question without its end mark gets one, and a capital letter."""
    if text[-1] not in ".?!":
        asks = re.match(r"(what|which|who|whom|why|how|when|where|in wh|is|are|was|does|do|did|can|could|will|would|may|should|must|am|has|have)\b", text, re.I)
        text += "?" if asks or rng.random() < 0.35 else "."
    return text[0].upper() + text[1:]


def reword(rng, text, amount=1.0):
    """Other words around the same thing."""
    if rng.random() < 0.3 * amount:
        text = SYNONYM.sub(lambda m: rng.choice(SYNONYMS[m[0]]) if rng.random() < 0.5 else m[0], text)
    if rng.random() < 0.08 * amount:
        words = text.split(" ")
        if len(words) > 3:
            words.insert(rng.randint(2, len(words) - 1), rng.choice(INSIDE) if rng.random() < 0.7 else invented(rng))
            text = " ".join(words)
    if rng.random() < 0.05 * amount:
        words = text.split(" ")
        if len(words) > 4:
            i = rng.randint(0, len(words) - 2)
            words[i], words[i + 1] = words[i + 1], words[i]
            text = " ".join(words)
    if rng.random() < 0.16 * amount:
        text = rng.choice(BEFORE) + (text[0].lower() + text[1:] if text[1:2].islower() else text)
    if rng.random() < 0.14 * amount:
        end = text[-1] if text[-1] in ".?!" else ""
        after = rng.choice(AFTER)
        text = text.rstrip(".?!") + after + (end if after[0] != "?" else "." if after[-1] != "s" else "")
    return text


def noise(rng, text, wrap=0.08):
    """The same question as people type it: wrapped, in lower case, without punctuation, with a slip of the finger."""
    if rng.random() < wrap:
        text = rng.choice(WRAPPERS).format(q=text)
    if rng.random() < 0.08:
        text = re.sub(r"\b(a|an|the) ", "", text)
    if rng.random() < 0.1:
        text = typo(rng, text)
    draw = rng.random()
    if draw < 0.3:
        text = text.lower()
    elif draw < 0.33:
        text = text.upper()
    draw = rng.random()
    if draw < 0.25:
        text = text.rstrip(".?!")
    elif draw < 0.28:
        text = text.rstrip(".?!") + rng.choice(["??", "!", "...", " ?", " please", "?!", "??? "])
    return text or "?"


def plain(text):
    """What is left of a question without case, punctuation and articles."""
    return " ".join(w for w in re.findall(r"[a-z0-9_/+=-]+", text.lower()) if w not in ("a", "an", "the"))


FILLERS = set("is are was do does did to of in on for it its i you can could please be by with at my me we has have will would should one".split())


def content(text):
    """The words of a question that carry its meaning."""
    return frozenset(plain(text).split()) - FILLERS


def from_test(text):
    """Whether the test asks this, or a hand-written question of the test has the same words."""
    if not TESTED:
        TESTED.update(plain(user) for case in test_set() for user, _ in case.turns)
        TESTED.update(plain(fill(t, name)) for topic in TOPICS for name in topic.names for t in TEST_QUESTIONS)
        TESTED.update(content(user) for topic in TOPICS for user in topic.test)
    return plain(text) in TESTED or content(text) in TESTED


TESTED = set()


def other_name(rng, name):
    """The same name, spelled a little differently."""
    text = name
    if re.search(r"[./_<]|^-", bare(name.lstrip("+"))):
        return text
    draw = rng.random()
    if draw < 0.05:
        text = text.replace("-", " ")
    elif draw < 0.08:
        text = text.replace(" ", "-") if bare(text) == text else text
    elif draw < 0.1:
        text = text.replace("-", "")
    elif draw < 0.13:
        text = text.replace("ization", "isation")
    elif draw < 0.2:
        text = text.lower()
    elif draw < 0.23 and text[-1].isalpha() and bare(text) == text and text[-1] not in "s":
        text += "s"
    return text


def draw_name_of(rng, topic):
    names = topic.names + ALIASES.get(topic.key, []) if rng.random() < 0.45 else topic.names
    return other_name(rng, rng.choice(names))


def know(topic, user):
    about = "me" if topic.key.startswith("your") else topic.key
    reason = f"The user asks about {about}. That is in my glossary." if topic.names else "I know the answer to this question."
    return Turn(user, topic.answer, topic.word, reason)


def topic_turn(rng):
    while True:
        turn = topic_draw(rng)
        if not from_test(turn.user):
            return turn._replace(user=noise(rng, turn.user))


def topic_draw(rng):
    topic = rng.choice(TOPICS)
    draw = rng.random()
    if draw < 0.03:
        turn = compare_draw(rng)
        if turn:
            return turn
    if draw < (0.45 if topic.names else 0.8):
        return know(topic, reword(rng, sentence(rng, expand(rng, rng.choice(FREE[topic.key])))))
    if topic.ask and (not topic.names or draw < 0.52):
        return know(topic, reword(rng, rng.choice(topic.ask)))
    if draw < 0.57 and topic.key not in ("your name", "your size"):
        return know(topic, fragment(rng, topic))
    while True:
        name, template = draw_name_of(rng, topic), question_template(rng)
        if not held_out(topic.key, template):
            return know(topic, reword(rng, sentence(rng, put_in(rng, template, name)), 0.7))


def put_in(rng, template, name, other="that"):
    """A question about a name; sometimes the name is quoted, or the question says where the thing is from."""
    if rng.random() < 0.05:
        name = ("+" if name[0] == "+" else "") + rng.choice(['"{}"', "'{}'", "`{}`", "*{}*", "({})"]).format(bare(name.lstrip("+")))
    text = fill(expand(rng, template), name, other)
    if rng.random() < 0.1 and len(text) > 12:
        end = text[-1] if text[-1] in ".?!" else ""
        text = text.rstrip(".?!") + rng.choice([" in ", " in ", " in ", " for ", " with ", " of "]) + rng.choice(AROUND) + end
    return text


def fragment(rng, topic):
    """A piece of the answer is asked about: what it says belongs to the topic."""
    part = rng.choice(re.split(r"(?<=[.,:;]) ", topic.answer)).strip(".,:;")
    words = part.split(" ")
    size = min(len(words), rng.randint(3, 9))
    start = rng.randint(0, len(words) - size)
    text = " ".join(words[start:start + size])
    for name in topic.names:
        if part.startswith(bare(name)[:1].upper() + bare(name)[1:] + " ") and rng.random() < 0.5:
            text = "what " + part[len(bare(name)) + 1:]
    frame = rng.choice(["{t}", "{t}", "why {t}", "what about {t}", "explain: {t}", "is it true: {t}", "what does it mean: {t}", "how {t}", "what is {t}", "tell me about {t}",
                        "what has to do with {t}", "something about {t}", "is this right: {t}", "you said {t}"])
    return sentence(rng, frame.replace("{t}", text))


def compare_draw(rng):
    """Two topics that are easily mixed up: the answers to both."""
    group = rng.choice(GROUPS)
    one, two = (BY_KEY[key] for key in rng.sample(group, 2))
    if {one.key, two.key} in ({"bf16", "fp16"}, {"top-k", "top-p"}, {"prefill", "decode"}, {"RMSNorm", "LayerNorm"}):
        return None
    text = fill(expand(rng, rng.choice(COMPARE)), rng.choice(one.names[:4]).lstrip("+"), rng.choice(two.names[:4]).lstrip("+"))
    return Turn(reword(rng, sentence(rng, text), 0.5), one.answer + " " + two.answer, one.word,
                f"The user asks about {one.key} and {two.key}. Both are in my glossary.")


BY_KEY = {topic.key: topic for topic in TOPICS}


def small_talk(topic, user):
    return Turn(user, topic.answer, topic.word, "This is small talk. A short reply will do.")


def invented(rng, most=4):
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, most))) + rng.choice(ENDINGS)


def letters(rng):
    """A name letter by letter, each letter as likely as it is after the two before it in NAMES."""
    if not FOLLOW:
        for name in NAMES:
            text = "  " + name.lower() + "."
            for i in range(2, len(text)):
                FOLLOW.setdefault(text[i - 2:i], []).append(text[i])
    while True:
        name = "  "
        while name[-1] != "." and len(name) < 16:
            name += rng.choice(FOLLOW[name[-2:]]) if rng.random() > 0.08 else rng.choice("abcdefghijklmnopqrstuvwxyz")
            if name[-2:] not in FOLLOW and name[-1] != ".":
                name = name[:-1] + rng.choice("aeiou") + "."
        name = name.strip(" .")
        if 2 <= len(name) <= 12:
            return name.title()


FOLLOW = {}


def scrambled(rng):
    """Any letters at all, or pieces of words: what a name may be made of has no end."""
    if rng.random() < 0.5:
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))).title()
    pieces = [word[i:i + rng.randint(2, 4)] for word in rng.choices(WORDS, k=rng.randint(1, 3)) for i in [rng.randint(0, max(0, len(word) - 2))]]
    return "".join(pieces).title()


def unknown(user):
    return Turn(user, UNKNOWN, "Unknown", "This is not about the program or its ideas. I should say that I do not know.")


def subject(rng):
    draw = rng.random()
    if draw < 0.25:
        word = rng.choice([letters, scrambled, lambda r: invented(r).title()])(rng)
        return rng.choice(["", "a ", "the "]) + (word.lower() if rng.random() < 0.4 else word)
    if draw < 0.35:
        return rng.choice(["a ", "the ", "my ", ""]) + bare(rng.choice(SUBJECTS)) + " " + bare(rng.choice(SUBJECTS))
    return rng.choice(SUBJECTS)


def gibberish(rng):
    """What no one means: one letter again and again, keys at random, one word repeated."""
    draw, length = rng.random(), rng.choice([2, 5, 12, 40, 120, 300])
    if draw < 0.4:
        return rng.choice("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789.!#*-=") * max(length, 3)
    if draw < 0.7:
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz  0123456789.,;:!#%&/()=*+-_<>@$") for _ in range(length)).strip() + "#"
    return " ".join([rng.choice([invented, scrambled, lambda r: r.choice(NOUNS)])(rng)] * max(2, length // 6))


def unknown_turn(rng):
    while True:
        turn = unknown_draw(rng)
        if not from_test(turn.user):
            return turn


def unknown_draw(rng):
    draw = rng.random()
    if draw < 0.1:
        return unknown(noise(rng, reword(rng, rng.choice(FIXED_STRANGE)), 0.05))
    if draw < 0.14:
        if rng.random() < 0.4:
            return unknown(gibberish(rng))
        length = rng.choice([1, 3, 8, 40])
        return unknown(" ".join(rng.choice([invented, lambda r: bare(r.choice(SUBJECTS))])(rng) for _ in range(rng.randint(1, length))))
    template = question_template(rng) if draw < 0.5 else rng.choice(STRANGE) if draw < 0.72 else rng.choice(OTHER_STRANGE)
    return unknown(noise(rng, reword(rng, sentence(rng, put_in(rng, template, subject(rng), subject(rng))), 0.7)))


def arithmetic(user, a, sign, b, equals=" = "):
    value = a + b if sign == "+" else a - b
    reason = f"I add {a} and {b}: that makes {value}." if sign == "+" else f"I take {b} from {a}: that leaves {value}."
    return Turn(user, f"{a} {sign} {b}{equals}{value}.", str(value), reason)


def fill_sum(template, a, sign, b):
    return template.format(a=a, b=b, o=sign, w="plus" if sign == "+" else "minus", A=DIGITS[a], B=DIGITS[b], c="加" if sign == "+" else "减")


def sum_turn(rng):
    if rng.random() < 0.12:
        a, b = rng.choice([(rng.randint(10, 999), rng.randint(0, 999)), (rng.randint(0, 99), rng.randint(10, 99)), (rng.randint(0, 9), rng.randint(0, 9))])
        sign, word = rng.choice([("+", "plus"), ("-", "minus")]) if max(a, b) > 9 else ("", "")
        if not sign or rng.random() < 0.3:
            sign, word = rng.choice([("*", "times"), ("/", "divided by"), ("x", "multiplied by")])
        user = noise(rng, rng.choice([s for s in SUMS if "{A}" not in s]).format(a=a, b=b, o=sign, w=word), 0.05)
        return Turn(user, BIG_SUM, "Unknown", "This is not a sum or a difference of two digits. I cannot do it.")
    while True:
        a, b, sign = rng.randint(0, 9), rng.randint(0, 9), rng.choice("+-")
        template = rng.choice(SUMS + (ADD if sign == "+" else SUBTRACT))
        if not held_out(a, sign, b, template):
            break
    text = fill_sum(template, a, sign, b)
    if rng.random() < 0.1:
        text = rng.choice(WRAPPERS).format(q=text)
    return arithmetic(text.lower() if rng.random() < 0.2 else text, a, sign, b)


def draw_name(rng):
    draw = rng.random()
    name = rng.choice(NAMES) if draw < 0.15 else letters(rng) if draw < 0.55 else scrambled(rng) if draw < 0.7 else invented(rng, 3).title()
    if draw > 0.95:
        name = name + rng.choice([" ", "-"]) + rng.choice([letters, lambda r: invented(r, 3).title()])(rng)
    return name.lower() if rng.random() < 0.1 else name


def give_name(rng, name):
    while True:
        text = rng.choice(GIVE_NAME) if rng.random() < 0.5 else expand(rng, rng.choice(MORE_GIVE))
        if not any(plain(t.format(n="x")) in plain(text.format(n="x")) for t in TEST_GIVE):
            return (text[0].upper() + text[1:] if rng.random() < 0.7 else text).format(n=name)


def greet(user, name):
    return Turn(user, f"Nice to meet you, {name}!", "Hello", f"The user's name is {name}. I should greet {name} and remember the name.")


def recall(user, name):
    if name is None:
        return Turn(user, NO_NAME, "Unknown", "The user has not told me a name.")
    return Turn(user, f"Your name is {name}.", name, f"The user told me a name: {name}.")


def chinese_turn(rng, state):
    turn = chinese_draw(rng, state)
    user = full_width(turn.user)
    if rng.random() < 0.3:
        user = user.translate({0xFF0C: ",", 0xFF1F: "?", 0xFF01: "!"}).rstrip(rng.choice(["", "?!。"]))
    return turn._replace(user=user, answer=full_width(turn.answer), reason=full_width(turn.reason))


def chinese_draw(rng, state):
    draw = rng.random()
    if draw < 0.12:
        subject = rng.choice(CHINESE_SUBJECTS)
        return Turn(rng.choice(CHINESE_QUESTIONS + CHINESE_STRANGE).format(b=subject), UNKNOWN_CHINESE, "不知道", "这和程序无关。我不知道。")
    if draw < 0.2:
        a, b, sign = rng.randint(0, 9), rng.randint(0, 9), rng.choice("+-")
        turn = arithmetic(fill_sum(rng.choice(CHINESE_SUMS), a, sign, b), a, sign, b)
        return turn._replace(answer=turn.answer[:-1] + "。")
    if draw < 0.26:
        name = state["name"] = rng.choice(CHINESE_NAMES)
        return Turn(rng.choice(CHINESE_GIVE).format(n=name), f"很高兴认识你,{name}!", "你好", f"用户叫{name}。我要记住这个名字。")
    if draw < 0.32:
        name = state["name"]
        return Turn(rng.choice(CHINESE_ASK), f"你叫{name}。" if name else "我还不知道你的名字。", name or "不知道",
                    f"用户的名字是{name}。" if name else "用户没有告诉我名字。")
    topic = rng.choice(CHINESE)
    if topic.ask and (not topic.names or rng.random() < 0.3):
        return chinese(topic, rng.choice(topic.ask))
    while True:
        name, template = rng.choice(topic.names), rng.choice(CHINESE_QUESTIONS)
        user = template.format(b=name)
        if not held_out(topic.key, template) and not user.isascii():
            return chinese(topic, user)


def chinese(topic, user):
    reason = f"用户问的是{topic.key}。我知道答案。" if topic.names else "我知道怎么回答。"
    return Turn(full_width(user), topic.answer, topic.word, reason)


def next_turn(rng, state):
    """One turn; state remembers the user's name."""
    draw = rng.random()
    if draw < 0.46:
        return topic_turn(rng)
    if draw < 0.55:
        return sum_turn(rng)
    if draw < 0.62 or (draw < 0.71 and state["name"] is None and rng.random() < 0.7):
        if state["name"] and rng.random() < state["loyal"]:
            return topic_turn(rng)
        name = draw_name(rng)
        state["name"] = name
        if rng.random() < 0.08:
            topic = topic_turn(rng)
            return Turn(give_name(rng, name) + " " + topic.user, f"Nice to meet you, {name}! {topic.answer}", topic.word,
                        f"The user's name is {name}. " + topic.reason)
        return greet(give_name(rng, name), name)
    if draw < 0.71:
        while True:
            user = rng.choice(ASK_NAME) if rng.random() < 0.5 else expand(rng, rng.choice(MORE_ASK))
            user = user[0].upper() + user[1:]
            if user in ASK_NAME or not any(plain(t) in plain(user) for t in TEST_ASK):
                break
        return recall(user.lower() if rng.random() < 0.15 else user.rstrip("?.") if rng.random() < 0.15 else user, state["name"])
    if draw < 0.88:
        return unknown_turn(rng)
    if draw < 0.925:
        topic = rng.choice(SMALL_TALK)
        user = rng.choice(topic.ask)
        return small_talk(topic, noise(rng, reword(rng, user, 0.6) if len(user.split()) > 1 else user, 0))
    return chinese_turn(rng, state)


def system_prompt(rng):
    """A system prompt and the style that it asks for."""
    draw = rng.random()
    if draw < 0.45:
        return "", "plain"
    if draw < 0.61:
        return rng.choice(WORD_PROMPTS), "word"
    if draw < 0.8:
        return rng.choice(CAPITAL_PROMPTS), "capitals"
    return rng.choice(NEUTRAL).format(m=rng.choice(MANNERS), m2=rng.choice(MANNERS), r=rng.choice(ROLES)), "plain"


def conversations(seed):
    """Endless (system, style, generator of turns); the reader takes as many turns as it likes."""
    rng = random.Random(seed)
    while True:
        system, style = system_prompt(rng)
        state = {"name": None, "loyal": rng.choice([0, 0.5, 0.9, 1])}
        yield system, style, iter(lambda: next_turn(rng, state), None)


Case = namedtuple("Case", "category system thinking turns expected")


def test_set(seed=600):
    """The test: questions in wordings, or pairs of topic and wording, that no training conversation contains.

    Each case is one conversation: turns but for the last one prepare it, expected is the whole last reply.
    """
    rng = random.Random(seed)
    cases = []

    def case(category, turns, system="", style="plain", thinking=False):
        turns = turns if isinstance(turns, list) else [turns]
        cases.append(Case(category, system, thinking, [(t.user, reply(t, style)) for t in turns], reply(turns[-1], style)))

    def question(topic):
        return know(topic, fill(rng.choice(TEST_QUESTIONS), rng.choice(topic.names[:3])))

    named = [topic for topic in TOPICS if topic.names]
    for topic in named:
        for template in rng.sample(TEST_QUESTIONS, 3):
            case("wording", know(topic, fill(template, rng.choice(topic.names[:3]))))
        pairs = [t for t in QUESTIONS if held_out(topic.key, t)]
        for template in rng.sample(pairs, min(2, len(pairs))):
            case("pair", know(topic, fill(template, topic.names[0])))
        case("one word", question(topic), ONE_WORD, "word")
        case("capitals", question(topic), CAPITALS, "capitals")
        case("thinking", question(topic), thinking=True)
    for topic in rng.sample(named, 30):
        case("one word, thinking", question(topic), ONE_WORD, "word", True)
        case("capitals, thinking", question(topic), CAPITALS, "capitals", True)
        case("other system", question(topic), rng.choice(["You are a helpful assistant.", "You are a patient librarian.", "Be brief."]))
        case("later turn", [question(t) for t in rng.sample(named, 3)] + [question(topic)])
    for topic in TOPICS:
        for user in topic.test:
            case("by hand", know(topic, user))
    for topic in SMALL_TALK:
        for user in topic.test:
            case("small talk", small_talk(topic, user))
    for sign in "+-":
        for a in range(10):
            for b in range(10):
                case("sums", arithmetic(fill_sum(rng.choice(TEST_SUMS), a, sign, b), a, sign, b))
                if (a + b) % 4 == 0:
                    case("sums, thinking", arithmetic(fill_sum(rng.choice(TEST_SUMS), a, sign, b), a, sign, b), thinking=True)
    for i, name in enumerate(TEST_NAMES):
        between = [question(rng.choice(named)) if rng.random() < 0.7 else unknown(fill(rng.choice(TEST_STRANGE), rng.choice(TEST_SUBJECTS))) for _ in range(i % 5)]
        give = greet(rng.choice(TEST_GIVE if i % 2 else GIVE_NAME).format(n=name), name)
        asked = rng.choice(TEST_ASK if i % 3 else ASK_NAME)
        case("names", [give] + between + [recall(asked, name)])
        if i % 3 == 0:
            case("names, thinking", [give] + between + [recall(asked, name)], thinking=True)
            case("names, capitals", [give] + between + [recall(asked, name)], CAPITALS, "capitals")
            case("names, one word", [give] + between + [recall(asked, name)], ONE_WORD, "word")
            case("no name", between + [recall(asked, None)])
    for name in TEST_SUBJECTS:
        case("unknown", unknown(fill(rng.choice(TEST_QUESTIONS), name)))
        case("unknown", unknown(fill(rng.choice(TEST_STRANGE), name)))
        case("unknown, thinking", unknown(fill(rng.choice(TEST_QUESTIONS), name)), thinking=True)
    for topic in CHINESE:
        for user in topic.test:
            case("Chinese", chinese(topic, user))
        if topic.names:
            for template in CHINESE_TEST:
                case("Chinese", chinese(topic, template.format(b=topic.names[0])))
    return cases


def long_cases(count=24, seed=5):
    """A name given at the start of a conversation that nearly fills the context, then a question at its end."""
    cases, rng, last = [], random.Random(seed), BY_KEY["RMSNorm"]
    for i, name in enumerate(TEST_NAMES[:count]):
        between = [topic_turn(rng) for _ in range((20, 50, 90, 125)[i % 4])]
        turns = [greet(f"My name is {name}.", name)] + between + [recall("What is my name?", name) if i % 8 < 4 else know(last, "What is RMSNorm?")]
        cases.append(Case("long context", "", (i + i // 8) % 2 == 1, [(t.user, t.answer) for t in turns], turns[-1].answer))
    return cases


def check():
    """The test set and the training wordings have nothing in common."""
    assert not set(TEST_QUESTIONS) & set(QUESTIONS) and not set(TEST_NAMES) & set(NAMES) and not set(TEST_SUBJECTS) & set(SUBJECTS)
    assert not set(TEST_SUMS) & set(SUMS) and not set(TEST_GIVE) & set(GIVE_NAME) and not set(TEST_ASK) & set(ASK_NAME)
    assert not set(CHINESE_TEST) & set(CHINESE_QUESTIONS)
    seen = {}
    for topic in CHINESE:
        assert topic.word and topic.answer and not topic.answer.isascii(), topic
    for topic in TOPICS + SMALL_TALK:
        assert topic.word and " " not in topic.word and topic.answer, topic
        for text in topic.names + topic.ask + topic.test:
            text = text.lower().lstrip("+").rstrip("?.!")
            assert seen.setdefault(text, topic.key) == topic.key, f"{text!r} belongs to {seen[text]!r} and {topic.key!r}"
    for topic in TOPICS + SMALL_TALK:
        assert topic.answer.isascii() and "\n" not in topic.answer and len(topic.answer) <= 240, topic


if __name__ == "__main__":
    check()
    for (system, style, turns), _ in zip(conversations(int(sys.argv[1]) if len(sys.argv) > 1 else 0), range(4)):
        print(f"--- system: {system!r}")
        for turn, _ in zip(turns, range(12)):
            print(f"> {turn.user}\n  {reply(turn, style)}\n  ({reasoning(turn, style)})")
    cases = test_set()
    count = {}
    for c in cases:
        count[c.category] = count.get(c.category, 0) + 1
    print(len(TOPICS), "topics,", len(CHINESE), "in Chinese; test cases:", len(cases), count)
