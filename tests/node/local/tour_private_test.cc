// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the texts of the private part of the tour, and the judgement of what its nodes learned.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "node/local/tour/private_gain.h"
#include "node/local/tour/site_notes.h"

namespace ruvd::cli {
namespace {

using testing::HasSubstr;

TEST(SiteNotes, NoHeldOutNoteIsTaughtAnywhere) {
  std::set<std::string> taught;
  std::set<std::string> held_out;
  for (size_t site = 0; site < kNoteSites; ++site) {
    const SiteNotes notes = NotesOf(site, 300, 20);
    EXPECT_EQ(notes.taught.size(), 300U);
    EXPECT_EQ(notes.held_out.size(), 20U);
    for (const SiteNote& note : notes.taught) {
      EXPECT_TRUE(taught.insert(note.Text()).second) << note.Text();
    }
    for (const SiteNote& note : notes.held_out) {
      EXPECT_TRUE(held_out.insert(note.Text()).second) << note.Text();
    }
  }
  for (const std::string& text : held_out) {
    EXPECT_FALSE(taught.contains(text)) << text;
  }
}

TEST(SiteNotes, AreTheSameEveryTime) {
  EXPECT_EQ(JsonLinesOf(NotesOf(1, 50, 5).taught), JsonLinesOf(NotesOf(1, 50, 5).taught));
  EXPECT_NE(JsonLinesOf(NotesOf(1, 50, 5).taught), JsonLinesOf(NotesOf(2, 50, 5).taught));
}

// Losses of two nodes that each measure three notes of the other's site.
NoteLosses Losses(double a, double b, double c) {
  return {{{}, {a, b, c}}, {{a, b, c}, {}}};
}

TEST(PrivateGain, ALossThatFellOnAllNotesIsAGain) {
  const auto gain = RequireGain(Losses(4, 5, 6), Losses(3.8, 4.9, 5.7));
  ASSERT_TRUE(gain.ok()) << gain.status();
  EXPECT_NEAR(gain->before, 5, 1e-12);
  EXPECT_NEAR(gain->after, 4.8, 1e-12);
  EXPECT_NEAR(gain->gain, 0.2, 1e-12);
  // Six notes whose gains have the squared deviations 0, 0.01 and 0.01, each twice.
  EXPECT_NEAR(gain->standard_error, std::sqrt(0.04 / 5 / 6), 1e-12);
  EXPECT_EQ(gain->notes, 6U);
}

TEST(PrivateGain, ALossThatStayedIsAFailure) {
  const auto gain = RequireGain(Losses(4, 5, 6), Losses(4, 5, 6));
  EXPECT_TRUE(absl::IsFailedPrecondition(gain.status())) << gain.status();
  EXPECT_THAT(MessageOf(gain.status()), HasSubstr("5.0000 before, 5.0000 now"));
}

TEST(PrivateGain, ALossThatRoseIsAFailure) {
  EXPECT_FALSE(RequireGain(Losses(4, 5, 6), Losses(4.1, 5.1, 6.1)).ok());
}

TEST(PrivateGain, AFallWithinItsErrorIsAFailure) {
  EXPECT_FALSE(RequireGain(Losses(4, 5, 6), Losses(3.5, 5.2, 6.2)).ok());
}

TEST(PrivateGain, OtherNotesCannotBeCompared) {
  const NoteLosses fewer = {{{}, {4, 5}}, {{4, 5}, {}}};
  EXPECT_EQ(ReasonOf(RequireGain(Losses(4, 5, 6), fewer).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(RequireGain({}, {}).status()), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::cli
