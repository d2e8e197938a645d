// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

namespace ruvd::bench {

// Beginnings of ordinary English prose, written for this study before any completion was seen. The
// first four are those of docs/samples.md.
inline constexpr std::array<const char*, 32> kStudyPrompts = {
    "The old lighthouse stood at the edge of the cliff, and every evening the keeper",
    "Water boils when its temperature is high enough that",
    "The history of the city begins in the early years of the",
    "When a program has to read a large file, it is usually better to",
    "She opened the letter with shaking hands and",
    "In the middle of the nineteenth century, the railway",
    "A healthy diet includes",
    "The river flows from the mountains in the north to",
    "My grandfather used to say that",
    "The committee decided that the new law should",
    "Birds that live near the sea often",
    "There was once a king who had three sons, and",
    "The main difference between the two methods is that",
    "After the war, many families returned to",
    "The museum was opened to the public in",
    "To make bread, you first need to",
    "The doctor looked at him for a long moment and said",
    "During the winter the roads in this part of the country",
    "An electric motor turns",
    "The painting shows a young woman who",
    "He had been walking for hours when he finally saw",
    "The team won the match because",
    "Scientists have found that the brain",
    "The village is known for its",
    "If you want to learn a new language,",
    "The ship left the harbour early in the morning with",
    "According to the report, the number of",
    "The garden behind the house was full of",
    "A function takes its arguments and",
    "The first time I saw the ocean, I",
    "The court found that the company had",
    "Most of the energy that reaches the earth comes from",
};

}  // namespace ruvd::bench
