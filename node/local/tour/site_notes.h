// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ruvd::cli {

// The texts of the private part of the tour: made-up notes from the log books of four sites. Each
// site has its own people, things and findings, and all sites write in one house style. So what a
// node learns from its own site helps with the notes of the others, without a word of them.

inline constexpr size_t kNoteSites = 4;

struct SiteNote {
  std::string head;  // time and site
  std::string rest;  // what was checked, with the blank before it
  std::string Text() const { return head + rest; }
};

// The notes of one site. Equal arguments give equal notes.
struct SiteNotes {
  std::string site;
  std::vector<SiteNote> taught;    // all different
  std::vector<SiteNote> held_out;  // all different, and none of them is taught
};

// Returns notes of site `site`, which is below kNoteSites. Each site can write some ten thousand
// different notes, of which `taught` and `held_out` together may be at most a few hundred.
SiteNotes NotesOf(size_t site, size_t taught, size_t held_out);

// Returns the notes as a file for `ruvd learn add`: one JSON object with a "text" on each line.
std::string JsonLinesOf(const std::vector<SiteNote>& notes);

}  // namespace ruvd::cli
