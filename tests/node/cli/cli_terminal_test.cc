// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "base/status.h"
#include "node/cli/denoise_view.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CliTerminalTest, ControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(Printable("a\x1b[31mb\x07\r\x7f"), "a\uFFFD[31mb\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Printable("line\n\ttab"), "line\n\ttab");
  EXPECT_EQ(Printable("\xC2\x9B"), "\uFFFD");  // the one-character escape of C1
  EXPECT_EQ(Printable("\xFF"), "\uFFFD");
  EXPECT_EQ(Printable("žluťoučký 😀"), "žluťoučký 😀");
}

// Regression test: a peer's task with a line feed printed a second field, or a whole change.
TEST(CliTerminalTest, NoValueForgesALine) {
  EXPECT_EQ(PrintableLine("a\nb\tc\x1b"), "a b c\uFFFD");
  EXPECT_EQ(FormatFields({{"task", "x\norigin  me"}, {"id", "7"}}),
            "task  x origin  me\nid    7\n");
}

TEST(CliTerminalTest, PeriodsOfAHundredYearsAndNoMore) {
  EXPECT_EQ(ParsePeriod("90s").value(), 90'000);
  EXPECT_EQ(ParsePeriod("86400s").value(), 86'400'000);  // it was "no period"
  EXPECT_EQ(ParsePeriod("36500d").value(), int64_t{36'500} * 86'400'000);
  EXPECT_THAT(MessageOf(ParsePeriod("36501d").status()), HasSubstr("36500d"));
  EXPECT_THAT(MessageOf(ParsePeriod("9223372036854775807d").status()), HasSubstr("36500d"));
  EXPECT_THAT(MessageOf(ParsePeriod("2w").status()), HasSubstr("not a period"));
  EXPECT_THAT(MessageOf(ParsePeriod("0h").status()), HasSubstr("not a period"));
}

RC_GTEST_PROP(CliTerminalProperty, PrintableKeepsNoControlAndIsStable, (const std::string& text)) {
  const std::string once = Printable(text);
  RC_ASSERT(Printable(once) == once);
  for (const char c : once) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
    RC_ASSERT(c != 0x7F);
  }
}

RC_GTEST_PROP(CliTerminalProperty, CharactersJoinToTheText, (const std::string& text)) {
  std::string joined;
  for (const std::string_view character : SplitCharacters(text)) {
    RC_ASSERT(!character.empty() && character.size() <= 4);
    joined += character;
  }
  RC_ASSERT(joined == text);
}

// Found by review: the lines of two runs differed, because a map has no order in memory.
TEST(CliTerminalTest, JsonPrintsMapsInTheOrderOfTheirKeys) {
  report::v1::InspectReport report;
  for (const char* key : {"d", "b", "e", "a", "c"}) {
    (*report.mutable_fields())[key] = key;
  }
  EXPECT_THAT(ToJsonLine(report),
              HasSubstr(R"("fields":{"a":"a","b":"b","c":"c","d":"d","e":"e"})"));
}

TEST(CliTerminalTest, TablesPadByCharactersAndEndWithoutBlanks) {
  EXPECT_EQ(FormatTable({"NAME", "X"}, {{"ž", "1"}, {"longer", "2\n3"}}),
            "NAME    X\n"
            "ž       1\n"
            "longer  2 3\n");
  EXPECT_EQ(FormatFields({{"id", "7"}, {"state", "ok"}}), "id     7\nstate  ok\n");
  EXPECT_EQ(FormatFields({{"a\x1b[2J\nb", "\x1b"}, {"ž", "1"}}),
            "a\uFFFD[2J b  \uFFFD\nž        1\n");
}

inference::v1::GenerateResponse Started(uint32_t window) {
  inference::v1::GenerateResponse event;
  event.mutable_started()->set_response_id("r1");
  event.mutable_started()->set_window(window);
  return event;
}

inference::v1::GenerateResponse Frame(uint32_t position, const std::string& text,
                                      float confidence) {
  inference::v1::GenerateResponse event;
  auto* commit = event.mutable_denoise_frame()->add_commits();
  commit->set_position(position);
  commit->set_text(text);
  commit->set_confidence(confidence);
  return event;
}

inference::v1::GenerateResponse Delta(const std::string& text) {
  inference::v1::GenerateResponse event;
  event.mutable_text_delta()->set_text(text);
  return event;
}

TEST(CliDenoiseViewTest, PlainOutputIsTheTextAlone) {
  std::ostringstream out;
  DenoiseView view(out, {.live = false});
  view.OnEvent(Started(3));
  view.OnEvent(Frame(1, "dog", 0.5F));
  view.OnEvent(Delta("a \x1b[2J"));
  view.OnEvent(Delta("dog"));
  view.Close();
  EXPECT_EQ(out.str(), "a \uFFFD[2Jdog\n");
  EXPECT_EQ(view.text(), "a \x1b[2Jdog");
}

TEST(CliDenoiseViewTest, MasksTurnIntoWordsInPlace) {
  std::ostringstream out;
  DenoiseView view(out, {.live = true, .columns = 40, .rows = 24});
  view.OnEvent(Started(2));
  EXPECT_THAT(out.str(), HasSubstr("░░░ ░░░ "));
  out.str("");
  view.OnEvent(Frame(1, "dog", 1.0F));
  EXPECT_THAT(out.str(), HasSubstr("\r\x1b[J"));               // the old picture is erased
  EXPECT_THAT(out.str(), HasSubstr("░░░ \x1b[38;5;221mdog"));  // sure: the brightest colour
  out.str("");
  view.OnEvent(Frame(0, "a ", 0.0F));
  EXPECT_THAT(out.str(), HasSubstr("\x1b[38;5;97ma \x1b[38;5;221mdog"));
  EXPECT_THAT(out.str(), Not(HasSubstr("░")));
  view.OnEvent(Delta("a dog"));
  out.str("");
  view.Close();
  EXPECT_EQ(out.str(), "\r\x1b[Ja dog\n");
}

TEST(CliDenoiseViewTest, LongWindowsAreBrokenAndCutToTheScreen) {
  std::ostringstream out;
  DenoiseView view(out, {.live = true, .columns = 8, .rows = 5});
  view.OnEvent(Started(10));  // 40 columns of masks: 5 lines, 3 of them are drawn
  const std::string drawn = out.str();
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 2);
  out.str("");
  view.OnEvent(Frame(0, "x", 0.5F));
  EXPECT_THAT(out.str(), ::testing::StartsWith("\x1b[2A\r\x1b[J"));
}

TEST(CliDenoiseViewTest, CommitsOutsideTheWindowAreIgnored) {
  std::ostringstream out;
  DenoiseView view(out, {.live = true});
  view.OnEvent(Started(1));
  out.str("");
  view.OnEvent(Frame(4'000'000'000U, "x", 0.5F));
  EXPECT_THAT(out.str(), Not(HasSubstr("x")));
}

TEST(CliDenoiseViewTest, FooterCountsTokensPerForward) {
  inference::v1::Finished finished;
  finished.set_steps(8);
  finished.mutable_usage()->set_completion_tokens(32);
  finished.set_forwards(10);
  finished.mutable_duration()->set_seconds(2);
  EXPECT_EQ(GenerationFooter(finished),
            "8 steps · 16.0 tokens/s · 3.20 tokens/forward · adapters: none");
  auto* use = finished.add_adapters_used();
  use->set_name("p");
  use->set_version(3);
  use->set_similarity(0.75F);
  use->set_pattern_id("70");
  auto* deep = finished.add_adapters_used();
  deep->set_name("deep");
  deep->set_version(2);
  deep->set_weight(0.25F);
  EXPECT_THAT(GenerationFooter(finished), HasSubstr("adapters: p@3 (0.75), deep@2 (weight 0.25)"));
  finished.mutable_memory()->set_tokens(2010);
  finished.mutable_memory()->set_share(0.125);
  EXPECT_THAT(GenerationFooter(finished), HasSubstr(" · memory: 12 % from 2010 tokens"));
  finished.mutable_route()->set_kind(inference::v1::ROUTE_KIND_HALF_STEPS);
  finished.mutable_route()->set_explored(true);
  EXPECT_THAT(GenerationFooter(finished), HasSubstr(" · route: half_steps (explored)"));
  EXPECT_EQ(GenerationFooter(inference::v1::Finished()),
            "0 steps · 0.0 tokens/s · 0.00 tokens/forward · adapters: none");
}

}  // namespace
}  // namespace ruvd::cli
