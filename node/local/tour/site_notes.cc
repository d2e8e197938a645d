// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/tour/site_notes.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <span>
#include <string_view>

#include "base/random.h"

namespace ruvd::cli {
namespace {

struct Checked {
  std::string_view thing;
  std::string_view unit;
  uint64_t least;  // of the reading
  uint64_t most;
};

struct Site {
  std::string_view name;
  std::array<std::string_view, 4> people;
  std::array<Checked, 6> things;
  std::array<std::string_view, 5> findings;
  std::array<std::string_view, 5> actions;
};

constexpr std::array<Site, kNoteSites> kSites = {{
    {"lighthouse",
     {"Mara", "Owen", "Signe", "Tomas"},
     {{{"lamp", "degrees", 38, 61},
       {"oil tank", "litres", 120, 480},
       {"fog horn", "bar", 4, 9},
       {"rotation drive", "turns", 3, 8},
       {"rain gauge", "millimetres", 0, 40},
       {"storm shutters", "bolts", 10, 24}}},
     {"The glass was clear.", "There was salt on the lens.", "The gear was a little warm.",
      "A seal had a small crack.", "The flame was even."},
     {"cleaned the lens", "trimmed the wick", "greased the gear", "replaced the seal",
      "wound the clockwork"}},
    {"water mill",
     {"Ines", "Jakob", "Petra", "Ruben"},
     {{{"mill wheel", "turns", 4, 11},
       {"sluice gate", "centimetres", 10, 70},
       {"upper stone", "degrees", 21, 48},
       {"grain hopper", "kilograms", 30, 260},
       {"flour sieve", "grams", 5, 90},
       {"drive belt", "millimetres", 2, 19}}},
     {"The water was low.", "There were branches in the rake.", "The stone ran smoothly.",
      "A paddle was loose.", "The flour was fine and dry."},
     {"cleared the rake", "dressed the stone", "tightened the belt", "fastened the paddle",
      "opened the sluice by a hand"}},
    {"greenhouse",
     {"Amir", "Berta", "Carlo", "Dunja"},
     {{{"tomato beds", "litres", 15, 95},
       {"roof vents", "degrees", 17, 36},
       {"soil probe", "percent", 20, 80},
       {"feed pump", "bar", 1, 5},
       {"heating pipe", "degrees", 30, 65},
       {"seed trays", "seedlings", 24, 144}}},
     {"The leaves were dry.", "There were aphids on two plants.", "The soil was moist.",
      "A nozzle was blocked.", "The roots looked healthy."},
     {"opened the vents", "rinsed the nozzle", "tied up the vines",
      "moved the trays into the light", "watered the beds again"}},
    {"ferry",
     {"Elin", "Farid", "Greta", "Hugo"},
     {{{"port engine", "degrees", 60, 92},
       {"bilge pump", "litres", 5, 85},
       {"fuel tank", "litres", 200, 900},
       {"landing ramp", "bar", 40, 110},
       {"life jackets", "pieces", 60, 140},
       {"mooring ropes", "metres", 12, 48}}},
     {"The engine sounded rough.", "There was water under the deck.", "The ropes were worn.",
      "A clamp was missing.", "The ramp closed well."},
     {"changed the filter", "pumped out the bilge", "spliced a new rope",
      "counted the jackets twice", "oiled the hinges"}},
}};

constexpr uint64_t kSeed = 20'261'127;
constexpr uint64_t kQuarters = 4;  // notes begin at quarters of an hour

template <typename T, size_t kSize>
const T& OneOf(const std::array<T, kSize>& all, Random& random) {
  return all[random.Below(kSize)];
}

std::string Time(uint64_t quarter) {
  return fmt::format("{:02}:{:02}", quarter / kQuarters % 24, 15 * (quarter % kQuarters));
}

SiteNote Draw(const Site& site, Random& random) {
  const uint64_t quarter = random.Below(24 * kQuarters);
  const std::string_view person = OneOf(site.people, random);
  const Checked& checked = OneOf(site.things, random);
  const uint64_t reading = checked.least + random.Below(checked.most - checked.least + 1);
  const std::string_view finding = OneOf(site.findings, random);
  const std::string_view action = OneOf(site.actions, random);
  const uint64_t next = quarter + kQuarters * (2 + random.Below(5));
  return {.head = fmt::format("{}, {}.", Time(quarter), site.name),
          .rest = fmt::format(" {} checked the {}: {} {}. {} {} {}. The next check is at {}.",
                              person, checked.thing, reading, checked.unit, finding, person, action,
                              Time(next))};
}

}  // namespace

SiteNotes NotesOf(size_t site, size_t taught, size_t held_out) {
  const Site& from = kSites.at(site);
  Random random(kSeed + site);
  std::set<std::string> known;
  const auto draw = [&](size_t count) {
    std::vector<SiteNote> notes;
    while (notes.size() < count) {
      SiteNote note = Draw(from, random);
      if (known.insert(note.Text()).second) {
        notes.push_back(std::move(note));
      }
    }
    return notes;
  };
  SiteNotes notes{.site = std::string(from.name), .taught = {}, .held_out = {}};
  notes.held_out = draw(held_out);
  notes.taught = draw(taught);
  return notes;
}

std::string JsonLinesOf(const std::vector<SiteNote>& notes) {
  std::string lines;
  for (const SiteNote& note : notes) {
    lines += fmt::format("{{\"text\": \"{}\"}}\n", note.Text());  // no note needs an escape
  }
  return lines;
}

}  // namespace ruvd::cli
