// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Checks the rules of the house over the real sources, and each rule against a file that breaks it,
// since a rule that cannot fail protects nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folder_graph.h"
#include "rules.h"
#include "source_tree.h"
#include "tests/paths.h"

namespace ruvd::architecture {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Files& Tree() {
  static const Files tree = LoadTree(test::SourceDir());
  return tree;
}

TEST(Architecture, TheTreeIsFound) {
  EXPECT_GT(Tree().size(), 50u);
  EXPECT_TRUE(std::ranges::any_of(
      Tree(), [](const SourceFile& file) { return file.path == "base/status.h"; }));
}
TEST(Architecture, IncludesPointDownwards) {
  EXPECT_THAT(CheckFloors(Tree()), IsEmpty());
}
TEST(Architecture, FoldersOfARoomStandInOrder) {
  EXPECT_THAT(CheckFolderOrder(Tree()), IsEmpty());
}
TEST(Architecture, ClientsAndToolsKnowNoNode) {
  EXPECT_THAT(CheckKnownFolders(Tree()), IsEmpty());
}
TEST(Architecture, PureRoomsHaveNoInputOrOutput) {
  EXPECT_THAT(CheckPureParts(Tree()), IsEmpty());
}
TEST(Architecture, IncludesHaveNoCycle) {
  EXPECT_THAT(CycleFinder(Tree()).Find(), IsEmpty());
}
TEST(Architecture, ThePageShowsTheGraphOfTheSources) {
  EXPECT_THAT(CheckFolderGraph(Tree()), IsEmpty());
}
TEST(Architecture, TimeAndChanceAreInjected) {
  EXPECT_THAT(CheckDeterminism(Tree()), IsEmpty());
}
TEST(Architecture, EverySourceHasItsLicence) {
  EXPECT_THAT(CheckLicenseHeaders(Tree()), IsEmpty());
}
TEST(Architecture, EveryHeaderIsIncludedOnce) {
  EXPECT_THAT(CheckPragmaOnce(Tree()), IsEmpty());
}
TEST(Architecture, HeadersIncludeNoSlowLibrary) {
  EXPECT_THAT(CheckSlowHeaders(Tree()), IsEmpty());
}
TEST(Architecture, EveryNameHasOneDefinition) {
  EXPECT_THAT(CheckOneDefinition(Tree()), IsEmpty());
}
TEST(Architecture, NamesOfTestsAreShort) {
  EXPECT_THAT(CheckTestNames(Tree()), IsEmpty());
}
TEST(Architecture, NoPathOfOneMachine) {
  EXPECT_THAT(CheckMachinePaths(Tree()), IsEmpty());
}

Files One(const std::string& path, const std::string& text) {
  return {{path, text}};
}

TEST(RuleFloors, DetectsUpwardAndSidewaysIncludes) {
  EXPECT_THAT(CheckFloors(One("base/a.cc", "#include \"node/process/node.h\"\n")),
              ElementsAre(HasSubstr("base may not include node/process/node.h")));
  EXPECT_EQ(CheckFloors(One("inference/a.h", "#include \"storage/db/db.h\"\n")).size(), 1u);
  EXPECT_EQ(CheckFloors(One("storage/a.h", "  # include \"inference/x.h\" // why\n")).size(), 1u);
  EXPECT_EQ(CheckFloors(One("privacy/a.h", "#include \"federation/x.h\"\n")).size(), 1u);
  EXPECT_EQ(CheckFloors(One("base/a.h", "#include \"ruvd/pattern/v1/pattern.pb.h\"\n")).size(), 1u);
  EXPECT_EQ(CheckFloors(One("node/a.h", "#include \"tests/sim/world.h\"\n")).size(), 1u);
}

TEST(RuleFloors, AllowsDownwardOwnAndTestIncludes) {
  EXPECT_THAT(CheckFloors({{"federation/a.cc", "#include \"inference/x.h\"\n"},
                           {"node/a.cc", "#include \"storage/db/db.h\"\n#include \"node/b.h\"\n"},
                           {"inference/a.cc", "#include \"ruvd/inference/v1/inference.pb.h\"\n"},
                           {"tests/base/a.cc", "#include \"node/process/node.h\"\n"},
                           {"base/a.cc", "#include <node/process/node.h>\n"}}),
              IsEmpty());
}

TEST(RuleFolderOrder, DetectsIncludesOfHigherAndUnnamedFolders) {
  EXPECT_THAT(CheckFolderOrder(One("node/serving/a.cc", "#include \"node/learning/b.h\"\n")),
              ElementsAre(HasSubstr("node/serving/a.cc: stands below node/learning/b.h")));
  EXPECT_EQ(CheckFolderOrder(One("node/learning/a.h", "#include \"node/sharing/b.h\"\n")).size(),
            1u);
  EXPECT_EQ(CheckFolderOrder(One("storage/limits.h", "#include \"storage/db/b.h\"\n")).size(), 1u);
  EXPECT_THAT(CheckFolderOrder(One("node/closet/a.cc", "")),
              ElementsAre(HasSubstr("does not name this folder")));
  EXPECT_THAT(CheckFolderOrder({{"node/sharing/a.cc", "#include \"node/learning/b.h\"\n"},
                                {"node/sharing/b.cc", "#include \"node/sharing/c.h\"\n"},
                                {"node/sharing/d.cc", "#include \"storage/db/c.h\"\n"},
                                {"node/sharing/e.cc", "#include \"node/limits.h\"\n"}}),
              IsEmpty());
}

TEST(RuleKnownFolders, DetectsWhatAClientMayNotKnow) {
  EXPECT_THAT(CheckKnownFolders(One("node/cli/a.cc", "#include \"storage/limits.h\"\n")),
              ElementsAre(HasSubstr("node/cli may not know storage/limits.h")));
  EXPECT_EQ(CheckKnownFolders(One("node/runtime/a.h", "#include \"node/config/b.h\"\n")).size(),
            1u);
  EXPECT_EQ(CheckKnownFolders(One("node/tools/a.h", "#include \"storage/db/b.h\"\n")).size(), 1u);
  EXPECT_THAT(CheckKnownFolders({{"node/cli/a.cc", "#include \"node/client/b.h\"\n"},
                                 {"node/cli/b.cc", "#include \"ruvd/pattern/v1/pattern.pb.h\"\n"},
                                 {"node/tools/c.cc", "#include \"inference/gguf/reader.h\"\n"},
                                 {"node/runtime/d.cc", "#include \"base/clock.h\"\n"}}),
              IsEmpty());
}

TEST(RuleOneDefinition, DetectsTypesAndConstantsOfTwoRooms) {
  const auto two = [](const std::string& a, const std::string& b) {
    return Files{{"inference/a.h", "namespace ruvd {\n" + a + "\n"},
                 {"storage/b.h", "namespace ruvd {\n" + b + "\n"}};
  };
  EXPECT_THAT(CheckOneDefinition(two("struct Batch {", "class Batch {")),
              ElementsAre(HasSubstr("storage/b.h: ruvd::Batch is defined in inference/a.h too")));
  EXPECT_EQ(CheckOneDefinition(
                two("inline constexpr int kMost = 1;", "inline constexpr size_t kMost = 2;"))
                .size(),
            1u);
  EXPECT_EQ(CheckOneDefinition(two("enum class Kind : int {", "struct Kind {")).size(), 1u);
  EXPECT_THAT(CheckOneDefinition(two("class Batch;", "class Batch {")), IsEmpty());
  EXPECT_EQ(CheckOneDefinition(two("namespace limits {\ninline constexpr int kMost = 1;\n"
                                   "}  // namespace limits\nstruct Batch {",
                                   "struct Batch {"))
                .size(),
            1u);
  EXPECT_THAT(CheckOneDefinition({{"inference/a.h", "namespace ruvd::train {\nstruct Batch {\n"},
                                  {"storage/b.h", "namespace ruvd {\nstruct Batch {\n"}}),
              IsEmpty());
}

TEST(RulePureParts, DetectsInputAndOutput) {
  EXPECT_EQ(CheckPureParts(One("federation/a.cc", "#include <thread>\n")).size(), 1u);
  EXPECT_EQ(CheckPureParts(One("inference/train/a.cc", "#include \"base/file.h\"\n")).size(), 1u);
  EXPECT_EQ(CheckPureParts(One("node/sharing/a.cc", "#include <grpcpp/grpcpp.h>\n")).size(), 1u);
  EXPECT_EQ(CheckPureParts(One("node/learning/a.cc", "#include \"node/runtime/ask.h\"\n")).size(),
            1u);
  EXPECT_EQ(CheckPureParts(One("node/learning/a.cc", "#include <filesystem>\n")).size(), 1u);
  EXPECT_EQ(CheckPureParts(One("node/sharing/a.cc", "#include \"base/file.h\"\n")).size(), 1u);
  EXPECT_EQ(CheckPureParts(One("node/sharing/a.cc", "#include <mutex>\n")).size(), 1u);
  EXPECT_THAT(CheckPureParts(One("inference/gguf/a.cc", "#include \"base/file.h\"\n")), IsEmpty());
}

TEST(RuleSlowHeaders, DetectsThemInHeadersOfRoomsOnly) {
  EXPECT_THAT(CheckSlowHeaders(One("node/cli/a.h", "#include <CLI/CLI.hpp>\n")),
              ElementsAre(HasSubstr("node/cli/a.h: a header may not have #include <CLI/CLI.hpp>")));
  for (const char* include :
       {"<grpcpp/grpcpp.h>", "<nlohmann/json.hpp>", "\"ruvd/node/v1/node.grpc.pb.h\""}) {
    EXPECT_EQ(
        CheckSlowHeaders(One("node/api/a.h", std::string("#include ") + include + "\n")).size(), 1u)
        << include;
  }
  EXPECT_THAT(CheckSlowHeaders({{"node/api/a.cc", "#include <grpcpp/grpcpp.h>\n"},
                                {"node/api/b.h", "#include \"ruvd/node/v1/node.pb.h\"\n"},
                                {"inference/c.h", "#include <nlohmann/json_fwd.hpp>\n"},
                                {"tests/node/d.h", "#include <grpcpp/grpcpp.h>\n"}}),
              IsEmpty());
}

TEST(RuleCycles, DetectsACycleAndNamesIt) {
  const Files files = {{"base/a.h", "#include \"base/b.h\"\n"},
                       {"base/b.h", "#include \"base/c.h\"\n"},
                       {"base/c.h", "#include \"base/a.h\"\n"}};
  EXPECT_THAT(CycleFinder(files).Find(),
              ElementsAre("include cycle: base/a.h <- base/c.h <- base/b.h <- base/a.h"));
  EXPECT_THAT(CycleFinder({files[0], files[1]}).Find(), IsEmpty());
}

TEST(RuleTestNames, DetectsALongOne) {
  const std::string name(kMaxTestName - 3, 'A');
  EXPECT_EQ(CheckTestNames(One("tests/a_test.cc", "TEST(Ab, " + name + ") {\n")).size(), 0u);
  for (const char* begin : {"TEST_F(Abc, ", "TEST(Abc,\n     ", "RC_GTEST_PROP(\n    Abc, "}) {
    EXPECT_EQ(CheckTestNames(One("tests/a_test.cc", begin + name + ") {\n")).size(), 1u) << begin;
  }
}

TEST(RuleFolderGraph, DetectsWhatIsMissingAndWhatIsGone) {
  const SourceFile page = {"docs/architecture.md",
                           "### Today\n```\nbase  .:    a: . b    b:\n      c: a\n```\n"};
  EXPECT_THAT(
      CheckFolderGraph({{"base/top.h", ""},
                        {"base/a/x.cc", "#include \"base/top.h\"\n"},
                        {"base/b/y.h", "#include \"base/a/z.h\"\n"},
                        {"base/c/z.h", "#include \"base/a/z.h\"\n#include \"base/c/w.h\"\n"},
                        page}),
      ElementsAre("docs/architecture.md lacks base/b: base/a",
                  "docs/architecture.md has base/a: base/b, which no source includes"));
  EXPECT_THAT(CheckFolderGraph({{"base/d/x.h", ""}, page}),
              Contains("docs/architecture.md lacks the folder base/d"));
  EXPECT_THAT(CheckFolderGraph({{"base/a/x.h", ""}, page}),
              Contains("docs/architecture.md has the folder base/b, which is gone"));
  EXPECT_EQ(CheckFolderGraph({}).size(), 1u);
}

TEST(RuleDeterminism, DetectsEveryWayAround) {
  for (const char* line :
       {"std::random_device d;", "int x = rand();", "srand(1);", "long t = time(nullptr);",
        "auto t = std::time(0);", "auto n = std::chrono::system_clock::now();",
        "auto n = std::chrono::steady_clock::now();", "std::this_thread::sleep_for(d);",
        "sleep(1);", "usleep(10);", "clock_gettime(CLOCK_REALTIME, &ts);"}) {
    EXPECT_EQ(CheckDeterminism(One("storage/a.cc", line)).size(), 1u) << line;
  }
}

TEST(RuleDeterminism, IgnoresCommentsLiteralsAndOtherNames) {
  for (const char* line :
       {"// rand() is bad", "/* sleep(1)\n time(0) */", "auto s = \"call time(0)\";",
        "auto s = R\"x(rand())x\";", "double t = step.time();", "Operand(x);", "timer->time(3);",
        "wall_time(3);", "double u = time(step) / time(step + 1);",
        "char c = '\"'; // system_clock", "using T = steady_clock::duration;"}) {
    EXPECT_THAT(CheckDeterminism(One("storage/a.cc", line)), IsEmpty()) << line;
  }
  EXPECT_THAT(CheckDeterminism(One("base/clock.cc", "system_clock::now();")), IsEmpty());
  EXPECT_THAT(CheckDeterminism(One("node/cli/run.cc", "steady_clock::now();")), IsEmpty());
  EXPECT_EQ(CheckDeterminism(One("node/cli/run.cc", "int x = rand();")).size(), 1u);
}

TEST(RuleDeterminism, NamesTheLineAfterALongComment) {
  EXPECT_THAT(CheckDeterminism(One("storage/a.cc", "/* a\n b\n*/\nint x = rand();\n")),
              ElementsAre(HasSubstr("storage/a.cc:4: no rand()")));
}

TEST(RuleHeaders, DetectsMissingLicenceAndPragma) {
  EXPECT_EQ(CheckLicenseHeaders(One("base/a.cc", "int x;\n")).size(), 1u);
  EXPECT_EQ(CheckLicenseHeaders(One("deploy/x.sh", "#!/bin/sh\n")).size(), 1u);
  EXPECT_THAT(CheckLicenseHeaders(One("notes.txt", "free text\n")), IsEmpty());
  EXPECT_EQ(CheckPragmaOnce(One("base/a.h", "#ifndef A_H\n")).size(), 1u);
  EXPECT_THAT(CheckPragmaOnce(One("inference/kernels/a-inl.h", "int x;\n")), IsEmpty());
}

// The paths are put together here, so that this file has none itself.
TEST(RuleMachinePaths, DetectsThemWhereverTheyHide) {
  for (const std::string root : {"work", "home/me", "root"}) {
    for (const std::string before : {"open(\"", "see ", "cd ", "A="}) {
      const std::string line = before + "/" + root + "/x\")";
      EXPECT_EQ(CheckMachinePaths(One("docs/a.md", line)).size(), 1u) << line;
    }
  }
  for (const std::string root : {"work", "home"}) {
    for (const std::string before : {"a", "$HOME", "~", "https://x.org"}) {
      const std::string line = before + "/" + root + "/x";
      EXPECT_THAT(CheckMachinePaths(One("docs/a.md", line)), IsEmpty()) << line;
    }
  }
  EXPECT_THAT(CheckMachinePaths(One("docs/a.md", "/workers/")), IsEmpty());
}

}  // namespace
}  // namespace ruvd::architecture
