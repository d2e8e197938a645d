// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Checks the protos of clients against the rules of docs/api.md and against what clients rely on,
// and each rule against a file that breaks it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "api_rules.h"
#include "tests/paths.h"

namespace ruvd::architecture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ProtoTree& Api() {
  static const ProtoTree tree(test::SourceDir() + "/proto/api");
  return tree;
}

TEST(Api, IsRead) {
  EXPECT_THAT(Api().errors(), IsEmpty());
  EXPECT_EQ(Api().files().size(), 8u);
}
TEST(Api, HasPackagesOfItsOwn) {
  EXPECT_THAT(CheckPackages(Api()), IsEmpty());
}
TEST(Api, NamesThingsAlike) {
  EXPECT_THAT(CheckNames(Api()), IsEmpty());
}
TEST(Api, TellsNotSetFromZero) {
  EXPECT_THAT(CheckPresence(Api()), IsEmpty());
}
TEST(Api, HasTimesAndPeriods) {
  EXPECT_THAT(CheckTimes(Api()), IsEmpty());
}
TEST(Api, ListsByPages) {
  EXPECT_THAT(CheckPages(Api()), IsEmpty());
}
TEST(Api, SaysWhatOnlyReads) {
  EXPECT_THAT(CheckReads(Api()), IsEmpty());
}
TEST(Api, IsExplained) {
  EXPECT_THAT(CheckComments(Api()), IsEmpty());
}

// A client that was built with the contract works with this node: nothing that it has was removed,
// renumbered or given another type.
TEST(Api, KeepsItsContract) {
  const std::string path = test::SourceDir() + "/proto/api.contract";
  std::ifstream file(path);
  std::vector<std::string> promised;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) {
      promised.push_back(line);
    }
  }
  const std::vector<std::string> now = ContractOf(Api());
  std::vector<std::string> broken;
  std::ranges::set_difference(promised, now, std::back_inserter(broken));
  EXPECT_THAT(broken, IsEmpty()) << "Clients rely on these lines of " << path
                                 << ". Add a new field or method instead, and keep the old one.";
  std::vector<std::string> added;
  std::ranges::set_difference(now, promised, std::back_inserter(added));
  if (added.empty()) {
    return;
  }
  const std::string whole = ::testing::TempDir() + "api.contract";
  std::ofstream out(whole);
  out << "# What clients of the API rely on, one line each (docs/api.md).\n";
  for (const std::string& line : now) {
    out << line << "\n";
  }
  ADD_FAILURE() << added.size() << " lines are new, such as: " << added.front()
                << ". Once no change of them is planned any more, for they are promises: cp "
                << whole << " proto/api.contract";
}

ProtoTree Broken(const std::string& body) {
  return ProtoTree("ruvd/a/v1/a.proto", "syntax = \"proto3\";\npackage ruvd.a.v1;\n" + body);
}

TEST(ApiRules, APackageSaysWhereItsFileLies) {
  const ProtoTree tree("ruvd/b/v1/a.proto", "syntax = \"proto3\";\npackage ruvd.a.v2;\n");
  EXPECT_THAT(CheckPackages(tree), ElementsAre(HasSubstr("has the package ruvd.a.v2")));
}
TEST(ApiRules, MessagesOfAMethodHaveItsName) {
  const ProtoTree tree = Broken(
      "message Ask {}\nmessage GetResponse {}\n"
      "service Asking { rpc Get(Ask) returns (GetResponse); }\n");
  EXPECT_THAT(CheckNames(tree), ElementsAre(HasSubstr("does not end with Service"),
                                            HasSubstr("must take GetRequest")));
}
TEST(ApiRules, ValuesHaveTheNameOfTheirEnum) {
  EXPECT_THAT(CheckNames(Broken("enum OfMany { NONE = 0; }\n")),
              ElementsAre(HasSubstr("has no OF_MANY_UNSPECIFIED"),
                          HasSubstr("NONE does not begin with OF_MANY_")));
}
TEST(ApiRules, AMeaningOfZeroNeedsPresence) {
  const auto check = [](const std::string& field) {
    return CheckPresence(
        Broken("message Options {\n  // Number of things; 0 means 64\n" + field +
               "}\nmessage GoRequest { Options options = 1; }\nmessage GoResponse {}\n"
               "service S { rpc Go(GoRequest) returns (GoResponse); }\n"));
  };
  EXPECT_THAT(check("  uint32 n = 1;\n"), ElementsAre(HasSubstr("Options.n gives 0 a meaning")));
  EXPECT_THAT(check("  optional uint32 n = 1;\n"), IsEmpty());
}
TEST(ApiRules, ANumberIsNoTime) {
  EXPECT_THAT(CheckTimes(Broken("message A { int64 created_ms = 1; }\n")),
              ElementsAre(HasSubstr("A.created_ms counts time")));
}
TEST(ApiRules, AListHasPages) {
  EXPECT_THAT(
      CheckPages(Broken("message ListXRequest {}\nmessage ListXResponse {}\n"
                        "service S { rpc ListX(ListXRequest) returns (ListXResponse); }\n")),
      ElementsAre(HasSubstr("S.ListX has no pages")));
}
TEST(ApiRules, AReadSaysSo) {
  EXPECT_THAT(CheckReads(Broken("message GetXRequest {}\nmessage GetXResponse {}\n"
                                "service S { rpc GetX(GetXRequest) returns (GetXResponse); }\n")),
              ElementsAre(HasSubstr("S.GetX reads")));
}
TEST(ApiRules, AMessageIsExplained) {
  EXPECT_THAT(CheckComments(Broken("message A {}\n")), ElementsAre(HasSubstr("A has no comment")));
  EXPECT_THAT(CheckComments(Broken("// One of those\nmessage A {}\n")), IsEmpty());
}
TEST(ApiRules, AContractShowsEveryChange) {
  const auto of = [](const char* field) {
    return ContractOf(Broken(std::string("message A { ") + field + " }\n"));
  };
  EXPECT_THAT(of("uint32 n = 1;"), ElementsAre("field ruvd.a.v1.A.n = 1: uint32"));
  EXPECT_NE(of("uint32 n = 1;"), of("uint32 n = 2;"));
  EXPECT_NE(of("uint32 n = 1;"), of("uint64 n = 1;"));
  EXPECT_NE(of("uint32 n = 1;"), of("repeated uint32 n = 1;"));
  EXPECT_NE(of("uint32 n = 1;"), of("optional uint32 n = 1;"));
  EXPECT_NE(of("uint32 n = 1;"), of("oneof x { uint32 n = 1; }"));
}

}  // namespace
}  // namespace ruvd::architecture
