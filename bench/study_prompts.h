// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

namespace ruvd::bench {

// Beginnings of ordinary English prose, written for this study before any completion was seen.
// Samplers are chosen by these. The first four are the prompts of docs/samples.md.
inline constexpr std::array<const char*, 32> kSelectionPrompts = {
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

// The results of a choice are reported on these, which no choice has seen. Half of them begin
// stories, a quarter textbooks, a quarter technical documents, about as the model's training text
// is divided (deploy/models/README.md).
inline constexpr std::array<const char*, 64> kReportingPrompts = {
    // Stories
    "The widow had let her upper rooms to a young clerk who",
    "It was past midnight when the carriage stopped before the inn, and the landlord",
    "\"You must not think of going out in this storm,\" said her aunt, who",
    "Of all the people in the parish, the curate was the one who",
    "The two brothers had not spoken since the sale of the farm, and now",
    "Miss Harding put down her sewing and walked to the window, where",
    "The captain read the message twice before he",
    "I was then in my nineteenth year, and had never",
    "The fire had burned low, and the old man drew his chair nearer to",
    "There was a narrow lane behind the mill, which led to",
    "When the bell rang for the third time, the boys",
    "Her father had been a man of some fortune, but",
    "The stranger took off his hat, wiped his forehead and asked",
    "\"I have nothing more to tell you,\" the lawyer answered, and",
    "Long before the sun was up, the fishermen had",
    "The dog lay down at the door and would not",
    "Nobody in the village could remember a summer so",
    "She had promised her mother that she would never",
    "The prisoner was brought into a small room, in which",
    "He counted the coins on the table once more, for",
    "On the road to the market we met a woman with",
    "The house had stood empty for seven years, and the neighbours",
    "\"If that is your opinion, sir,\" replied the colonel, \"then",
    "The children were told to keep away from the well because",
    "At the end of the valley the path divided, and the guide",
    "It is a curious thing that the happiest day of my life",
    "The young schoolmaster was so poor that",
    "Toward evening the wind changed, and the crew",
    "Lady Margaret received them in the great hall with",
    "The thief had hidden himself in the barn, thinking that",
    "After dinner the guests went out upon the terrace, where",
    "He wrote three letters that night: one to his sister,",
    // Textbooks
    "The cell membrane is a thin layer that",
    "When an object moves in a circle at constant speed, its acceleration",
    "A market is in equilibrium when",
    "Sociologists use the word culture to mean",
    "The atoms of a metal are held together by",
    "In an experiment, the control group is the group that",
    "The planets closest to the sun are made mostly of",
    "Memory can be divided into several stages. In the first,",
    "Plants take in carbon dioxide through",
    "The standard deviation of a sample tells us",
    "After the colonies had declared their independence, the new states",
    "An acid is a substance that",
    "When the price of a good rises, consumers",
    "The heart pumps blood to the lungs, where",
    "Light bends as it passes from air into glass because",
    "In many societies, marriage is",
    // Technical documents
    "The following example shows how to create a new",
    "This option is set to false by default. If you set it to true,",
    "Before you install the package, make sure that",
    "The server returns an error if the client",
    "Use this command to list all of the",
    "A component can pass data to its children by",
    "The second parameter is a pointer to",
    "To enable logging, add the following lines to",
    "If the user is not logged in, the application should",
    "Each request must contain a header that",
    "The compiler generates a warning when",
    "You can store the results in a table by",
    "By default, the database keeps its data in",
    "A good contribution begins with",
    "To protect your account against attacks, you should",
    "The class inherits all of its methods from",
};

}  // namespace ruvd::bench
