#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes golden_splits.json: texts cut into words by the published expressions of pre-tokenisers.

The expressions are matched by the Python package `regex`, which shares nothing with our matchers.
Usage: pip install regex && ./generate_golden_splits.py > golden_splits.json
"""
import json

import regex

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DEEPSEEK_LETTERS = (
    r"\s?[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-"
    r"\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1"
    r"\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-"
    r"\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15"
    r"\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D"
    r"\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB"
    r"\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D"
    r"\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183"
    r"\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B"
    r"\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-"
    r"\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB"
    r"\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943]+")
# Each is applied to the parts that the one before left.
SPLITTERS = {
    "gpt-2": [GPT2],
    "starcoder": [r"\p{N}", GPT2],
    "command-r": [r"\p{N}", GPT2],
    "deepseek-llm": [
        r"[\r\n]", DEEPSEEK_LETTERS,
        r"\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+", r"\s+$",
        r"[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+", r"\p{N}+"],
    "tekken": [
        r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+|"
        r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*|"
        r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "llama-bpe": [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
}
TEXTS = [
    "", " ", "  ", "\n", "\n\n\n", "\t\n \t", "a", "Hello world", " Hello  World!  ", "it's we'LL I'd",
    "3.14159 and 1,000,000", "0123456789 x42y", "v2.0-rc1 (2024/05/17)", "f(x) = x**2 + 3*x - 7;",
    "if (a&&b) {\n\treturn c[i++];\n}\n", "for i in range(10):\n    print(i)\n", "path/to/file_name.cc:42",
    "https://example.org/?q=1&r=%20#top", "\"quoted\" 'single' `code`", "wait... what?! -- no",
    "Žluťoučký kůň úpěl", "Привет, мир! 42", "Γειά σου Κόσμε", "我看到了3只猫。你呢？", "東京は2024年に、暑い",
    "안녕하세요 세계 100%", "مرحبا 123 بالعالم", "שלום עולם", "हिन्दी में ६७ शब्द", "ไทย ๑๒๓",
    "🙂🙃 ok 👩‍👩‍👧", "½ ² Ⅷ ①", "naïve café e\u0301", "ﬁne ＡＢＣ！", "a\u00a0b", "x  \n  y\r\n z ",
    "ends with spaces   ", "ნუ გეშინია", "ℝ ⊂ ℂ, ∑ x_i ≤ 1", "parseHTTPResponse XMLÉcoleABC éAÉB ÀÀ AÀb ABCdefGHI",
    "a // b\n//c\r\n/ d .\n/e", "<|user|>\nhi<|end|>",
]


def cut(text, rows):
    parts = [text]
    for row in rows:
        expression = regex.compile(row)
        cut_parts = []
        for part in parts:
            done = 0
            for match in expression.finditer(part):
                if match.end() > match.start():
                    cut_parts += [part[done:match.start()], match.group()]
                    done = match.end()
            cut_parts.append(part[done:])
        parts = [part for part in cut_parts if part]
    return parts


out = [{"pre": name, "text": text, "words": cut(text, rows)}
       for name, rows in SPLITTERS.items() for text in TEXTS]
print("[\n" + ",\n".join(json.dumps(case) for case in out) + "\n]")
