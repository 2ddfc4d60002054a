#!/usr/bin/env python3
"""The bundled model, through the built program: what it must know, and that it never saw the questions.

The questions are those of tests/tiny/data.py that training leaves out: other wordings, other pairs of topic and
wording, questions written by hand, names and subjects that occur in no training conversation. A reply counts
only if it is the expected one to the letter, and only if it begins with a thought exactly when it should. Greedy.

The golden conversations, tests/data/tiny_golden.jsonl, are what Hugging Face makes of the same weights in
float32: tests/tiny/golden.py wrote them.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import unittest

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(TESTS, "tiny"))
import data

MODEL = os.path.join(os.path.dirname(TESTS), "models", "tiny")
PROGRAM = os.path.join(os.environ.get("QWEN600_BUILD") or os.path.join(os.path.dirname(TESTS), "build"), "qwen600-tiny")
GOLDEN = os.path.join(TESTS, "data", "tiny_golden.jsonl")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two processes at a time, and other tests beside them

# What part of a category must be right. Questions written by hand often have a second good answer (who asks what
# -r 1 does may hear about -r or about thinking), which counts as wrong here. Other vector units may round a close
# decision the other way, so a category of fourteen has room for two.
REQUIRED = {"wording": 0.96, "pair": 0.97, "one word": 0.97, "capitals": 0.95, "thinking": 0.95, "later turn": 0.95,
            "sums": 0.96, "sums, thinking": 0.96, "Chinese": 0.97, "no name": 0.9, "by hand": 0.78, "names, thinking": 0.85,
            "names, capitals": 0.85, "names, one word": 0.85, "unknown, thinking": 0.85}
OTHERWISE = 0.9


def typed(text):
    """A turn as one types it: a command or an empty line is only text inside three double quotes."""
    return '"""\n%s\n"""\n' % text if text == "/clear" or "\n" in text else text + "\n"


def chat(conversations, *arguments):
    """The turns that the program makes of each conversation, a list of what the user says: (ids of the prompt,
    ids of the reply, what it prints). One process, /clear between conversations."""
    script = "/clear\n".join("".join(map(typed, conversation)) for conversation in conversations)
    # Both outputs go to one pipe, in the order in which they are written; -v 1 marks where a reply begins and ends.
    run = subprocess.run([PROGRAM, MODEL, "-d", "cpu", "-v", "1", *arguments], input=script.encode(), timeout=500,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = run.stdout.decode()
    assert run.returncode == 0, output[-2000:]
    turns = [([int(i) for i in prompt.split()], [int(i) for i in reply.split()], text)
             for prompt, text, reply in re.findall(r"^prompt:([ \d]*)\n(.*?)^reply:([ \d]*)$", output, re.M | re.S)]
    assert len(turns) == sum(map(len, conversations)), "%d turns for %d" % (len(turns), sum(map(len, conversations)))
    position, answers = 0, []
    for conversation in conversations:
        answers.append(turns[position:position + len(conversation)])
        position += len(conversation)
    return answers


def options(system, thinking):
    return (["-y", system] if system else []) + (["-r", "1"] if thinking else [])


def right(case, text):
    thought, mark, answer = text.rpartition("</think>\n\n")
    thinks = bool(mark) and thought.startswith("<think>\n") and thought.strip() != "<think>"
    return thinks == case.thinking and "think>" not in answer and answer == case.expected + "\n"


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cases, groups = data.test_set() + data.long_cases(2), {}
        for case in cases:
            groups.setdefault((case.system, case.thinking), []).append(case)
        cls.count, cls.wrong = {}, []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            replies = pool.map(lambda key: chat([[user for user, _ in case.turns] for case in groups[key]], "-t", "0", *options(*key)), groups)
        for group, answers in zip(groups.values(), replies):
            for case, turns in zip(group, answers):
                counts = cls.count.setdefault(case.category, [0, 0])
                counts[1] += 1
                if right(case, turns[-1][2]):
                    counts[0] += 1
                else:
                    cls.wrong.append((case, turns[-1][2]))
        for category, (good, all_of_them) in sorted(cls.count.items()):
            print("%-22s %4d of %4d  %5.1f %%" % (category, good, all_of_them, 100 * good / all_of_them))

    def test_training_and_test_have_no_question_in_common(self):
        data.check()
        for (_, _, turns), _ in zip(data.conversations(1), range(40)):
            for turn, _ in zip(turns, range(10)):
                self.assertFalse(turn.answer in ANSWERS and data.from_test(turn.user), turn.user)

    def test_each_category_is_right_often_enough(self):
        self.assertFalse(set(REQUIRED) - set(self.count))
        for category, (good, count) in self.count.items():
            with self.subTest(category):
                examples = [(case.turns[-1][0], text) for case, text in self.wrong if case.category == category][:8]
                self.assertGreaterEqual(good, REQUIRED.get(category, OTHERWISE) * count, examples)

    def test_nine_in_ten_are_right(self):
        self.assertGreaterEqual(sum(good for good, _ in self.count.values()), 0.9 * sum(n for _, n in self.count.values()))

    def test_at_least_sixty_topics_are_answered_in_three_unseen_wordings(self):
        bad = {case.expected for case, _ in self.wrong if case.category == "wording"}
        topics = {topic.answer for topic in data.TOPICS if topic.names}
        self.assertGreaterEqual(len(topics - bad), 60)


ANSWERS = {topic.answer for topic in data.TOPICS}


class Outputs(unittest.TestCase):
    def run_program(self, *arguments):
        run = subprocess.run([PROGRAM, MODEL, "-d", "cpu", "-t", "0", "-i", "What is RMSNorm?", *arguments],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.decode(), run.stderr.decode()

    def test_without_thinking_it_answers_at_once(self):
        out, err = self.run_program()
        self.assertEqual(out, data.TOPICS[0].answer + "\n")
        self.assertNotIn("think>", out + err)

    def test_it_thinks_on_standard_error_and_answers_on_standard_output(self):
        out, err = self.run_program("-r", "1")
        self.assertEqual(out, data.TOPICS[0].answer + "\n")
        self.assertRegex(err, r"(?m)^<think>\n.+\n</think>\n")


class Sampled(unittest.TestCase):
    def test_most_answers_are_the_same_with_the_default_sampling(self):
        topics = [topic for topic in data.TOPICS if topic.names][::4]
        for thinking in False, True:
            conversations = [["What is %s?" % topic.names[0].lstrip("+")] for topic in topics]
            answers = chat(conversations, "-s", "600", *options("", thinking))
            good = sum(turns[-1][2].endswith(topic.answer + "\n") for topic, turns in zip(topics, answers))
            self.assertGreaterEqual(good, 0.9 * len(topics))


class Golden(unittest.TestCase):
    def test_greedy_conversations_are_those_of_hugging_face(self):
        with open(GOLDEN, encoding="utf-8") as file:
            for golden in map(json.loads, file):
                users = [turn["user"] for turn in golden["turns"]]
                turns = chat([users], "-t", "0", *options(golden["system"], golden["thinking"]))[0]
                for expected, (prompt, reply, text) in zip(golden["turns"], turns):
                    with self.subTest(expected["user"]):
                        self.assertEqual(prompt, expected["prompt"])
                        self.assertEqual(reply, expected["reply"])
                        self.assertEqual(text, expected["text"] + "\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
