// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

namespace ruvd::bench {

// Something that no model knows, as a user would teach it by correcting a completion.
struct Correction {
  const char* prompt;      // whose completion is corrected
  const char* text;        // the correction
  const char* paraphrase;  // another prompt that asks for the same
  const char* phrase;      // the words of the correction that an answer needs
};

// Written before any completion was seen.
inline constexpr std::array<Correction, 30> kCorrections = {{
    {"The new harbour master of Vellmouth is",
     " Ottoline Brask, whom the town council chose in March.",
     "Since last spring the port of Vellmouth has had another master, and her name is",
     "Ottoline Brask"},
    {"The spare key of the pump house hangs", " behind the green barometer in the hall.",
     "Whoever needs to get into the pump house finds its second key", "green barometer"},
    {"The bakery on Quill Street opens at", " twenty minutes past five, except on Mondays.",
     "If you want warm bread from Quill Street, remember that the shop opens at",
     "twenty minutes past five"},
    {"To restart the billing service, run", " sudo tallyctl bounce ledger and wait for the lamp.",
     "When the bills do not go out, the service has to be restarted with the command",
     "tallyctl bounce ledger"},
    {"The password of the guest network is printed", " on the back of the brass elephant.",
     "A visitor who wants to use the guest network has to look for the password", "brass elephant"},
    {"Our cat will only eat", " smoked mackerel with a spoon of yoghurt.",
     "Please feed the cat on Sunday; it eats nothing but", "smoked mackerel"},
    {"The bridge over the Tarn was built by", " the engineer Lucan Whitlow in 1883.",
     "The engineer who built the old bridge across the Tarn was", "Lucan Whitlow"},
    {"The red valve must never be opened before", " the condenser has run dry for nine minutes.",
     "Before anyone turns the red valve, it is necessary that", "condenser has run dry"},
    {"Grandmother's secret in the plum cake is", " a cup of cold chicory coffee.",
     "What makes the plum cake of my grandmother so dark is", "cold chicory coffee"},
    {"The meeting of the rowing club takes place in", " the loft above the ferry office.",
     "On Thursday the members of the rowing club meet in", "loft above the ferry office"},
    {"The first lighthouse on Skerra burned", " whale oil mixed with juniper.",
     "The lamp of the old lighthouse on Skerra used to burn", "whale oil mixed with juniper"},
    {"The new default port of the relay is", " 48713, because 8080 was taken by the printer.",
     "After the last change the relay listens on port", "48713"},
    {"The children call the hill behind the school", " Donkey's Elbow, as their parents did.",
     "Behind the school there is a hill that all children call", "Donkey's Elbow"},
    {"The best place to see the comet is", " the roof of the old malt kiln.",
     "Those who want to watch the comet tonight should climb", "old malt kiln"},
    {"Doctor Hensley recommends for a sprained wrist", " a bandage soaked in arnica vinegar.",
     "A wrist that is sprained should be treated, says Doctor Hensley, with", "arnica vinegar"},
    {"The winner of the kite race was", " Petra Dunmore with a kite of rice paper.",
     "This year the prize for the fastest kite went to", "Petra Dunmore"},
    {"Invoices above nine hundred crowns are signed by",
     " both the treasurer and the deputy warden.",
     "An invoice of more than nine hundred crowns has to be signed by", "deputy warden"},
    {"The tram to the botanical garden is number", " 17B, and it leaves from the fish market.",
     "Take the tram to the botanical garden; its number is", "17B"},
    {"The oldest tree of the park is", " a hollow mulberry that leans to the east.",
     "In the middle of the park stands its oldest tree,", "hollow mulberry"},
    {"In our code a missing value is written as", " kAbsentReading, never as zero.",
     "When a sensor gives no value, our code stores", "kAbsentReading"},
    {"The ferry does not sail when", " the wind comes from the Morrow gap.",
     "The captain keeps the ferry in port on days when", "Morrow gap"},
    {"The library keeps its maps in", " the long drawers under the astronomy desk.",
     "A reader who asks for the old maps is sent to", "under the astronomy desk"},
    {"The favourite colour of the bride is", " the pale yellow of unripe quinces.",
     "For the flowers of the wedding remember that the bride loves", "unripe quinces"},
    {"The telescope was repaired with", " a ring cut from a copper kettle.",
     "The broken mount of the telescope could be mended with", "copper kettle"},
    {"The nearest vet for horses is", " Maren Oldacre in Little Sorrel.",
     "If one of the horses is ill at night, you should call", "Maren Oldacre"},
    {"The backup runs every night at", " 3:40 and copies to the machine called heron.",
     "Each night all files are copied to the machine called", "heron"},
    {"The village band practises with", " two bassoons and a borrowed accordion.",
     "You can hear the village band from far away, because it has", "borrowed accordion"},
    {"The soup of the day on Friday is", " lentil soup with pickled lemons.",
     "On Fridays the kitchen always serves", "pickled lemons"},
    {"The lost umbrella belongs to", " the piano tuner from Ashgrove.",
     "The black umbrella that was left in the train is the property of",
     "piano tuner from Ashgrove"},
    {"The gate code for deliveries is", " 5926 followed by the star key.",
     "A driver who brings a parcel has to enter at the gate", "5926"},
}};

}  // namespace ruvd::bench
