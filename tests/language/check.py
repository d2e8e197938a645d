#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the English of comments, help, errors and documents against the rule of CONTRIBUTING.md.

  tests/language/check.py [--count] [PATH...]     (default: all tracked files)

A sentence is what ends with a full stop. It needs a verb and must not open with a word that leaves
the subject out. A text without a full stop is a label ("in bytes") and is free, and so is the
definition that a comment begins with ("A condition variable for Mutex."). Prints one line for each
finding and exits with 1 if there is any.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A sentence that begins so has no subject, or makes the reader look for one in the line before.
OPENINGS = re.compile(
    r"^(Of|Those|The same|As of|Whose|Also|Nor|Neither of|Likewise|Besides|And|Nothing of)\b(?! course)")
# One plain noun says the same.
WORDS = re.compile(r"\b(whoever|whomever|nobody|whatsoever|is none|are none)\b", re.IGNORECASE)
# Documents that a user of the repository does not have.
OUTSIDE = re.compile(
    r"\b(DESIGN(\.md)?( section)? §?\d|DESIGN section|the pilot|reliability-gossip|federated-privacy|"
    r"diffusion-lm|peer-llamacpp|vector-store\.md|ux-ecosystem|toolchain-and-style|pilot-adapters)\b")

# Finite verbs and imperatives in their base form; other forms are derived.
VERBS = set("""
abort accept access account accumulate acknowledge act add adjust admit advance agree align allocate allow alter amount
announce answer appear append apply approximate arrive ask assert assign assume attach attack avoid await back balance
batch be bear become begin behave believe belong bind block boot borrow bound break bring build call cancel carry cast
catch cause change charge check choose claim clamp clear clip close cluster collect combine come commit compare compile
complete compress compute concern configure confirm connect consent consider consist consult consume contain continue
contribute control convert copy correct cost count cover crash create cross cut damage date deal decide declare decline
decode decompress decrease decrypt default defer define delay delete deliver demand denoise deny depend derive describe
deserve destroy detect determine dial differ emulate spell disagree discard disconnect divide do doubt drain draw drop dump earn edit
embed empty enable encode encrypt end enter enumerate equal erase err escape estimate evaluate evict exceed exchange
exclude execute exist exit expand expect expire explain export expose express extend extract fail fall feed fetch fill
filter find finish fire fit fix flip flush fold follow forbid force forget fork form format forward free freeze fulfil
gain gather generate get give go gossip grant group grow guarantee guard guess halve handle hang happen hash have hear
help hide hit hold identify ignore implement imply import improve include increase index indicate inform inherit
initialise insert inspect install intend interpolate interpret interrupt invalidate invert involve issue iterate join
judge jump keep know label lack land last lead learn leave lend let lie like limit link list listen live load lock log
look lose lower maintain make map mark mask match matter mean measure meet mention merge mind mismatch miss mistake mix
model modify mount move multiply mutate name need negotiate nest note notice notify number obey observe occur offer omit
open operate optimise order outlive overflow override overshoot overwrite own pack pad parse part pass pause pay perform
permit pick pin place plan play point poll pop post precede predict prefer prefetch prepare present preserve press
prevent print proceed process produce promise propagate propose protect prove provide prune publish pull push put
quantise quantize query queue quote raise rank rate reach react read rebuild recall receive reclaim recognise recompute
reconcile record recover reduce refer refill refresh refuse refute register reject relate relax relay release rely
remain remember remove rename render renew reopen repair repeat replace replay reply report represent request require
reserve reset resolve respond rest restart restore restrict result resume retain retire retry return reuse reveal reverse
revert revoke rewrite ring rise rotate round route run sample satisfy save say scale scan schedule score scrub seal search
seed see seem select send separate serialise serve set settle shard share shed shift shorten show shrink shuffle
shut sign signal simulate sit skip sleep slice slide slow solve sort sound span spawn speak specify spend split spread
stack stand stop stall start state stay steal step store stream strip subtract succeed sue suffer suffice suggest suit
sum supersede supply support suppose suspect swap switch sync synchronise take talk teach tell tend terminate test think
throttle throw tick tie time touch trace track train transfer transform translate travel treat trigger trim truncate
trust try turn unblock undo unload unlock unpack untangle update upgrade use validate vanish vary verify violate visit
vote vouch wait wake walk want warm warn waste watch weigh widen win wipe wish withdraw withhold witness work worry wrap
write yield zero
""".split())
IRREGULAR = set("""
am is are was were been being has had having does did done can cannot could may might must shall should will would
isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't can't couldn't won't wouldn't shouldn't needn't
ate became began bent bore bought bound broke brought built came caught chose cost cut dealt drawn drew driven drove
fallen fell felt fed found forgot forgotten fought gave given gone got grew grown heard held hid hidden hit kept knew
known laid lain lay led left lent lent lost made meant met paid put ran read rose risen said sat saw seen sent set shown
shut slept slid sold spent split spoke spoken spread stood stuck swept taken taught thrown threw told took thought
understood went withdrawn withdrew withheld woke won wound written wrote begun chosen sought let's lies dies ties uses
""".split())


def is_verb(word):
    word = word.lower().strip("'`")
    if word in VERBS or word in IRREGULAR:
        return True
    stems = []
    if word.endswith("ies"):
        stems.append(word[:-3] + "y")
    if word.endswith("es"):
        stems += [word[:-2], word[:-1]]
    elif word.endswith("s"):
        stems.append(word[:-1])
    if word.endswith("ied"):
        stems.append(word[:-3] + "y")
    elif word.endswith("ed"):
        stems += [word[:-2], word[:-1], word[:-3] if len(word) > 4 and word[-3] == word[-4] else word]
    return any(stem in VERBS for stem in stems)


# What a comment begins with may be a definition, as in a dictionary: "A condition variable for Mutex."
DEFINITION = re.compile(r"(A|An|The|One|Two) [a-z`A-Z]")
# Contracts that every header states in the same few words.
CONTRACT = re.compile(r"(Not |Immutable,? (and|hence) |Movable; not )?[Tt]hread-safe[.;]|Pure\.|Idempotent\.|Immutable\.")
# Texts that are data: the sample prose by which a gate measures what a model forgot.
DATA = {"node/learning/general_text.cc"}

# Full stops that end no sentence.
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Sec|Eq|Fig|al|No|resp|approx)\.$")


def sentences(text):
    """The sentences of a paragraph, each with its full stop; labels are left out."""
    start = 0
    for match in re.finditer(r"[.!?](?=[\s)\"'`]|$)", text):
        before = text[start:match.end()].strip()
        if ABBREVIATION.search(before):
            continue
        start = match.end()
        if before:
            yield before


def findings_in(paragraph):
    plain = re.sub(r"`[^`]*`", "NAME", paragraph)
    plain = re.sub(r"https?://\S+", "LINK", plain)
    if OUTSIDE.search(plain):
        yield f"refers to a document that users do not have: {OUTSIDE.search(plain).group(0)}"
    for match in WORDS.finditer(plain):
        yield f'has "{match.group(0)}"; name who or what is meant'
    for index, sentence in enumerate(sentences(plain)):
        core = sentence.lstrip("([-* \"'")
        opening = OPENINGS.match(core)
        if opening:
            yield f'opens with "{opening.group(0)}": {sentence[:70]}'
            continue
        words = re.findall(r"[A-Za-z][A-Za-z'’]*", sentence.replace("’", "'"))
        if len(words) < 2 or not sentence.endswith(".") or CONTRACT.match(core):
            continue
        if index == 0 and DEFINITION.match(core):
            continue
        if not any(is_verb(word) for word in words):
            yield f"has no verb: {sentence[:70]}"


def comment_blocks(text, marker):
    """Line number and text of each paragraph of comments."""
    block, first = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        whole = re.match(r"\s*" + marker + r"\s?(.*)$", line)
        trailing = None
        if not whole and marker == "//":
            trailing = re.search(r"(?:[;,{})\]]|\w)\s+//\s(.*)$", re.sub(r'"(?:\\.|[^"\\])*"', '""', line))
        if whole and "SPDX-" in line:
            continue
        if whole and whole.group(1).strip():
            if not block:
                first = number
            block.append(whole.group(1).strip())
            continue
        if block:
            yield first, " ".join(block)
            block = []
        if trailing:
            yield number, trailing.group(1).strip()
    if block:
        yield first, " ".join(block)


def markdown_blocks(text):
    block, first, fenced, hidden = [], 0, False, False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        if "<!--" in line:
            hidden = True
        starts = re.match(r"\s*([-*] |\d+\. |#|\|)", line)
        skip = fenced or hidden or line.startswith("```") or line.startswith(("|", "#", ">")) or not line.strip()
        if (skip or starts) and block:
            yield first, " ".join(block)
            block = []
        if "-->" in line:
            hidden = False
        if skip:
            continue
        if not block:
            first = number
        block.append(line.strip())
    if block:
        yield first, " ".join(block)


STRING = re.compile(r'"((?:\\.|[^"\\])*)"')


def string_blocks(text):
    """Errors and help: literals of some words, adjacent ones joined."""
    joined = re.sub(r'"\s*\n\s*"', "", text)
    for match in STRING.finditer(joined):
        words = match.group(1)
        if words.count(" ") >= 3 and re.search(r"[a-z]{3}", words):
            yield 0, words


def blocks(path, text):
    if path.suffix in (".h", ".cc", ".proto"):
        yield from comment_blocks(text, "//")
    elif path.suffix in (".sh", ".cmake", ".py") or path.name == "CMakeLists.txt":
        yield from comment_blocks(text, "#")
    elif path.suffix == ".md":
        yield from markdown_blocks(text)


def check(path):
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    found = []
    for line, paragraph in blocks(path, text):
        found += [f"{name}:{line}: {finding}" for finding in findings_in(paragraph)]
    if path.suffix in (".h", ".cc") and not str(name).startswith(("tests/", "bench/")) and \
            str(name) not in DATA:
        for _, words in string_blocks(text):
            for match in WORDS.finditer(words):
                found.append(f'{name}: the text "{words[:60]}" has "{match.group(0)}"')
            if OPENINGS.match(words):
                found.append(f'{name}: the text "{words[:60]}" opens with "{OPENINGS.match(words).group(0)}"')
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", action="store_true", help="print only how many findings each folder has")
    parser.add_argument("paths", nargs="*", help="files or folders")
    arguments = parser.parse_args()
    listed = subprocess.run(["git", "ls-files", *arguments.paths], cwd=ROOT, capture_output=True, text=True, check=True)
    kinds = (".h", ".cc", ".proto", ".md", ".sh", ".py", ".cmake")
    files = [ROOT / name for name in listed.stdout.split("\n")
             if name.endswith(kinds) or name.endswith("CMakeLists.txt")]
    found = [line for path in files if path.exists() and path != pathlib.Path(__file__).resolve() for line in check(path)]
    if arguments.count:
        folders = {}
        for line in found:
            folder = "/".join(line.split(":")[0].split("/")[:2])
            folders[folder] = folders.get(folder, 0) + 1
        for folder, count in sorted(folders.items()):
            print(f"{count:5} {folder}")
    else:
        print("\n".join(found) if found else "the language check found nothing")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
