// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "tests/privacy/reference/reference_table.h"

namespace ruvd::privacy::dp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kHeader[] = "method,q,sigma,steps,delta,order,expected,tolerance\n";

std::string Refusal(const std::string& text) {
  const auto rows = ParseReferenceTable(text);
  return rows.ok() ? "accepted" : MessageOf(rows.status());
}

TEST(DpReferenceTable, ReadsColumnsByNameAndSkipsComments) {
  const auto rows = ParseReferenceTable(
      "# a comment\r\n\r\n"
      "tolerance,method,q,sigma,steps,delta,order,expected\r\n"
      "1e-8, rdp_at_order ,0.01,2.5,50,,1.5,6.5e-4\r\n"
      "0,analytic_sigma,,8,,1e-5,,0.6");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  const ReferenceRow& first = (*rows)[0];
  EXPECT_EQ(first.line, 4u);
  EXPECT_EQ(first.method, Method::kRdpAtOrder);
  EXPECT_EQ(first.q, 0.01);
  EXPECT_EQ(first.sigma, 2.5);
  EXPECT_EQ(first.steps, 50u);
  EXPECT_EQ(first.order, 1.5);
  EXPECT_EQ(first.expected, 6.5e-4);
  EXPECT_EQ(first.tolerance, 1e-8);
  EXPECT_EQ((*rows)[1].sigma, 8);
  EXPECT_EQ((*rows)[1].delta, 1e-5);
}

TEST(DpReferenceTable, NamesTheLineAndTheRemedy) {
  const std::string header = kHeader;
  EXPECT_THAT(Refusal(""), AllOf(HasSubstr("line 1"), HasSubstr("no row")));
  EXPECT_THAT(Refusal(header), HasSubstr("no row"));
  EXPECT_THAT(Refusal("method,q\nrdp,1\n"), AllOf(HasSubstr("line 1"), HasSubstr("begin with")));
  EXPECT_THAT(Refusal(header + "rdp,1,1,1,1e-5,,1\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("7 cells")));
  EXPECT_THAT(Refusal(header + "\nprv,1,1,1,1e-5,,1,0\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("\"prv\""), HasSubstr("rdp_integer")));
  EXPECT_THAT(Refusal(header + "rdp,x,1,1,1e-5,,1,0\n"), HasSubstr("line 2: q is \"x\""));
  EXPECT_THAT(Refusal(header + "rdp,nan,1,1,1e-5,,1,0\n"), HasSubstr("q is \"nan\""));
  EXPECT_THAT(Refusal(header + "rdp,1.5,1,1,1e-5,,1,0\n"), HasSubstr("line 2: sampling rate 1.5"));
  EXPECT_THAT(Refusal(header + "pld,1,0,1,1e-5,,1,0\n"), HasSubstr("line 2: noise multiplier 0"));
  EXPECT_THAT(Refusal(header + "rdp,1,1,2.5,1e-5,,1,0\n"), HasSubstr("steps is \"2.5\""));
  EXPECT_THAT(Refusal(header + "rdp,1,1,1,0,,1,0\n"), HasSubstr("line 2: delta 0"));
  EXPECT_THAT(Refusal(header + "rdp_at_order,1,1,1,,1,1,0\n"), HasSubstr("order is 1;"));
  EXPECT_THAT(Refusal(header + "rdp,1,1,1,1e-5,,1e999,0\n"), HasSubstr("expected is"));
  EXPECT_THAT(Refusal(header + "rdp,1,1,1,1e-5,,1,-1\n"), HasSubstr("tolerance is -1"));
  EXPECT_THAT(Refusal(header + "analytic_sigma,,-1,,1e-5,,1,0\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("epsilon -1")));
}

TEST(DpReferenceTable, IsBounded) {
  EXPECT_EQ(ReasonOf(ParseReferenceTable(std::string(kMaxTableBytes + 1, '\n')).status()),
            reasons::kLimitExceeded);
  std::string rows = kHeader;
  for (size_t i = 0; i <= kMaxTableRows; ++i) {
    rows += "rdp,1,1,1,1e-5,,1,0\n";
  }
  EXPECT_EQ(ReasonOf(ParseReferenceTable(rows).status()), reasons::kLimitExceeded);
}

TEST(DpReferenceTable, ARowThatIsWrongDoesNotAgree) {
  const auto rows = ParseReferenceTable(std::string(kHeader) +
                                        "rdp,1,1,1,1e-5,,4.7285070672,1e-9\n"
                                        "rdp,1,1,1,1e-5,,4.7285070772,1e-9\n"
                                        "rdp_integer,1,1,1,1e-5,,4.7527283368,1e-9\n"
                                        "analytic_sigma,,8,,1e-5,,0.6002290722,1e-9\n"
                                        "rdp_at_order,0.1,1,1,,6,0.3710943530763,1e-12\n");
  ASSERT_TRUE(rows.ok()) << rows.status();
  for (size_t i = 0; i < rows->size(); ++i) {
    EXPECT_EQ(Agrees((*rows)[i], Compute((*rows)[i]).value()), i != 1) << (*rows)[i].text;
  }
}

}  // namespace
}  // namespace ruvd::privacy::dp
