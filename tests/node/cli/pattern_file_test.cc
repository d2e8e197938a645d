// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/pattern_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "node/reasons.h"
#include "node/terminal/period.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/paths.h"

namespace ruvd::cli {
namespace {

using google::protobuf::util::MessageDifferencer;
using pattern::v1::Pattern;
using pattern::v1::PatternFileHeader;
using pattern::v1::PatternFileLine;
using testing::HasSubstr;
using testing::Not;

PatternFileHeader TwoValues() {
  PatternFileHeader header;
  header.set_version(kPatternFileVersion);
  header.set_model_package(std::string(64, 'a'));
  header.set_model_name("a model");
  header.set_dimension(2);
  header.set_node_id(std::string(64, 'b'));
  *header.mutable_export_time() = ToTimestamp(1'700'000'000'000);
  return header;
}

PatternFileLine SomeLine() {
  PatternFileLine line;
  Pattern& pattern = *line.mutable_pattern();
  pattern.set_id("000102030405060708090a0b0c0d0e0f");
  pattern.set_bank(2);
  pattern.set_task("Br\xC3\xBC\x63ke \"\\\n");
  pattern.set_tier(privacy::v1::SHARING_TIER_PUBLIC);
  pattern.set_quality(0.1F);
  pattern.set_uses(std::numeric_limits<uint32_t>::max());
  pattern.set_examples(3);
  pattern.set_origin(std::string(64, 'c'));
  *pattern.mutable_create_time() = ToTimestamp(1);
  *pattern.mutable_update_time() = ToTimestamp(std::numeric_limits<int64_t>::max());
  *pattern.mutable_expire_time() = ToTimestamp(4);
  pattern.mutable_embedding()->add_values(1.0F);
  pattern.mutable_embedding()->add_values(-std::numeric_limits<float>::denorm_min());
  line.set_adapter(std::string("\0\xFF bytes", 8));
  return line;
}

std::string Written(const PatternFileHeader& header, const std::vector<PatternFileLine>& lines) {
  std::string bytes;
  PatternFileWriter writer([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  EXPECT_TRUE(writer.Begin(header).ok());
  for (const PatternFileLine& line : lines) {
    EXPECT_TRUE(writer.Add(line.pattern(), line.adapter()).ok());
  }
  EXPECT_TRUE(writer.End().ok());
  return bytes;
}

absl::StatusOr<std::vector<PatternFileLine>> ReadAll(const std::string& bytes) {
  std::istringstream in(bytes);
  ASSIGN_OR_RETURN(PatternFileReader reader, PatternFileReader::Open(in));
  std::vector<PatternFileLine> lines;
  for (;;) {
    ASSIGN_OR_RETURN(auto line, reader.Next());
    if (!line) {
      return lines;
    }
    lines.push_back(*std::move(line));
  }
}

// Returns the error of a file of one pattern whose line was changed, with a last line that fits it.
std::string ErrorOf(const std::function<void(nlohmann::ordered_json*)>& change) {
  const std::string whole = Written(TwoValues(), {SomeLine()});
  const size_t first = whole.find('\n') + 1;
  auto line = nlohmann::ordered_json::parse(whole.substr(first, whole.find('\n', first) - first));
  change(&line);
  const std::string body = whole.substr(0, first) + line.dump() + "\n";
  const absl::Status status =
      ReadAll(body + R"({"end":{"patterns":"1","sha256":")" + ToHex(Sha256(body)) + "\"}}\n")
          .status();
  EXPECT_EQ(ReasonOf(status), reasons::kExportInvalid);
  EXPECT_THAT(MessageOf(status), testing::AllOf(HasSubstr("line 2: "), Not(HasSubstr("\n"))));
  EXPECT_LT(MessageOf(status).size(), 400u);
  return MessageOf(status);
}

std::string ErrorOfField(const std::string& field, const nlohmann::ordered_json& value) {
  return ErrorOf([&](nlohmann::ordered_json* line) { (*line)["pattern"][field] = value; });
}

TEST(PatternFileTest, WhatIsWrittenIsReadAgain) {
  PatternFileLine bare = SomeLine();
  bare.clear_adapter();
  bare.mutable_pattern()->set_task("");
  const std::string bytes = Written(TwoValues(), {SomeLine(), bare});
  const auto lines = ReadAll(bytes);
  ASSERT_TRUE(lines.ok()) << lines.status();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_TRUE(MessageDifferencer::Equals((*lines)[0], SomeLine()));
  EXPECT_TRUE(MessageDifferencer::Equals((*lines)[1], bare));
  std::istringstream in(bytes);
  const auto reader = PatternFileReader::Open(in);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(MessageDifferencer::Equals(reader->header(), TwoValues()));
}

TEST(PatternFileTest, TheDocumentationShowsTheBytesThatAreWritten) {
  PatternFileLine line = SomeLine();
  Pattern& pattern = *line.mutable_pattern();
  pattern.set_task("");
  pattern.set_quality(0.5F);
  pattern.set_uses(7);
  *pattern.mutable_update_time() = ToTimestamp(2);
  pattern.clear_expire_time();
  pattern.mutable_embedding()->set_values(1, -2.0F);
  line.set_adapter("abc");
  const auto page = ReadFile(test::SourceDir() + "/docs/pattern-export.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("```\n" + Written(TwoValues(), {line}) + "```\n"));
}

TEST(PatternFileTest, WhatIsTrueOnlyOnTheNodeIsNotExportedAndNotRead) {
  PatternFileLine local = SomeLine();
  local.mutable_pattern()->set_adapter_name("a name");
  local.mutable_pattern()->set_adapter_version(5);
  local.mutable_pattern()->set_adapter_bytes(8);
  local.mutable_pattern()->set_dimension(2);
  *local.mutable_pattern()->mutable_last_use_time() = ToTimestamp(6);
  local.mutable_pattern()->set_standing(pattern::v1::PATTERN_STANDING_SERVING);
  const std::string bytes = Written(TwoValues(), {local});
  EXPECT_EQ(bytes, Written(TwoValues(), {SomeLine()}));
  std::string body = bytes.substr(0, bytes.find("{\"end\""));
  const std::string name = "\"adapter_name\":\"";
  ASSERT_NE(body.find(name), std::string::npos);
  body.insert(body.find(name) + name.size(), "a name");
  const auto lines =
      ReadAll(body + R"({"end":{"patterns":1,"sha256":")" + ToHex(Sha256(body)) + "\"}}\n");
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_TRUE(MessageDifferencer::Equals(lines->front(), SomeLine()));
}

TEST(PatternFileTest, AnEmptyExportIsOne) {
  const auto lines = ReadAll(Written(TwoValues(), {}));
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_TRUE(lines->empty());
}

TEST(PatternFileTest, EveryFileThatWasCutIsNoticed) {
  const std::string bytes = Written(TwoValues(), {SomeLine(), SomeLine()});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::Status status = ReadAll(bytes.substr(0, size)).status();
    EXPECT_EQ(ReasonOf(status), reasons::kExportInvalid) << size;
    EXPECT_THAT(MessageOf(status), HasSubstr("line ")) << size;
  }
}

TEST(PatternFileTest, EveryByteThatWasChangedIsNoticed) {
  const std::string bytes = Written(TwoValues(), {SomeLine()});
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(ReasonOf(ReadAll(changed).status()), reasons::kExportInvalid) << at;
  }
}

TEST(PatternFileTest, LinesThatAreMissingOrTooManyAreNoticed) {
  const std::string bytes = Written(TwoValues(), {SomeLine(), SomeLine()});
  const size_t first = bytes.find('\n') + 1;
  const size_t second = bytes.find('\n', first) + 1;
  EXPECT_THAT(MessageOf(ReadAll(bytes.substr(0, first) + bytes.substr(second)).status()),
              HasSubstr("has 1 patterns, but its last line counts 2"));
  EXPECT_THAT(MessageOf(ReadAll(bytes + "\n").status()), HasSubstr("more data after"));
}

TEST(PatternFileTest, ForeignFilesAreToldApart) {
  for (const std::string bytes : {"PNG", "{}\n", "7\n", "\n", "{\"ruvd_patterns\":1}\n",
                                  "{\"header\":{}}\n", "{\"pattern\":{}}\n"}) {
    EXPECT_THAT(MessageOf(ReadAll(bytes).status()),
                HasSubstr("line 1: this is not a file of `ruvd pattern export`"))
        << bytes;
  }
  std::string newer = Written(TwoValues(), {});
  newer.replace(newer.find(":1,"), 3, ":2,\"colour\":{\"red\":[1]},");
  EXPECT_THAT(MessageOf(ReadAll(newer).status()), HasSubstr("has version 2"));
}

TEST(PatternFileTest, AHeaderSaysWhatIsWrongWithIt) {
  const auto error_of = [](const std::function<void(PatternFileHeader*)>& change) {
    PatternFileHeader header = TwoValues();
    change(&header);
    return MessageOf(ReadAll(Written(header, {})).status());
  };
  EXPECT_THAT(error_of([](PatternFileHeader* h) { h->set_model_package("aa"); }),
              HasSubstr("line 1: \"model_package\" is not 64 hexadecimal digits"));
  EXPECT_THAT(error_of([](PatternFileHeader* h) { h->clear_node_id(); }),
              HasSubstr("\"node_id\" is not 64"));
  EXPECT_THAT(error_of([](PatternFileHeader* h) { h->set_dimension(0); }),
              HasSubstr("\"dimension\" is 0, but must be from 1 to 16384"));
  EXPECT_THAT(error_of([](PatternFileHeader* h) { h->set_dimension(16385); }),
              HasSubstr("\"dimension\" is 16385"));
  EXPECT_THAT(error_of([](PatternFileHeader* h) { h->mutable_export_time()->set_seconds(-1); }),
              HasSubstr("\"export_time\" is 1969-12-31T23:59:59Z, but must not be before 1970"));
  std::string unknown = Written(TwoValues(), {});
  unknown.insert(unknown.find("\"version\""), "\"colour\":1,");
  EXPECT_THAT(MessageOf(ReadAll(unknown).status()), HasSubstr("colour: Cannot find field"));
}

TEST(PatternFileTest, ALineSaysWhatIsWrongWithIt) {
  using Json = nlohmann::ordered_json;
  const auto embedding = [](const Json& values) {
    return ErrorOfField("embedding", {{"values", values}});
  };
  EXPECT_THAT(embedding({1.0}), HasSubstr("has 1 values, but the first line says 2"));
  EXPECT_THAT(embedding({1.0, "NaN"}), HasSubstr("not finite"));
  EXPECT_THAT(embedding({1.0, "-Infinity"}), HasSubstr("not finite"));
  EXPECT_THAT(embedding({1.0, 1e39}), HasSubstr("embedding.values[1]"));
  // No node stores such values, but `import --check` found nothing wrong with them.
  EXPECT_THAT(embedding({0.0, -0.0}), HasSubstr("all zero"));
  const auto adapter = [](const std::string& base64) {
    return ErrorOf([&](Json* line) { (*line)["adapter"] = base64; });
  };
  EXPECT_THAT(adapter("YWJ!"), HasSubstr("adapter"));
  EXPECT_THAT(adapter(std::string(1 << 20, '!')), HasSubstr("adapter"));
  EXPECT_THAT(ErrorOfField("adapter", "YWJj"), HasSubstr("adapter: Cannot find field"))
      << "it stands beside the pattern";
  EXPECT_THAT(ErrorOfField("bank", 3), HasSubstr("from 0 to 2"));
  EXPECT_THAT(ErrorOfField("tier", "SHARING_TIER_DP"), HasSubstr("nodes of this version store no"));
  EXPECT_THAT(ErrorOfField("tier", "secret"), HasSubstr("pattern.tier"));
  EXPECT_THAT(ErrorOfField("tier", 77), HasSubstr("\"tier\" is not"));
  EXPECT_THAT(ErrorOfField("quality", 1.5), HasSubstr("\"quality\" is 1.5"));
  EXPECT_THAT(ErrorOfField("quality", "NaN"), HasSubstr("\"quality\" is nan"));
  EXPECT_THAT(ErrorOfField("quality", "good"), HasSubstr("pattern.quality"));
  EXPECT_THAT(ErrorOfField("uses", -1), HasSubstr("pattern.uses"));
  for (const char* time : {"create_time", "update_time", "expire_time"}) {
    EXPECT_THAT(ErrorOfField(time, "1969-12-31T23:59:59.5Z"),
                HasSubstr(std::string(time) + "\" is 1969-12-31T23:59:59.500Z, but must not be"));
    EXPECT_THAT(ErrorOfField(time, "yesterday"), HasSubstr(time));
    EXPECT_THAT(ErrorOfField(time, "10000-01-01T00:00:00Z"), HasSubstr(time));
  }
  EXPECT_THAT(ErrorOfField("id", "00"), HasSubstr("\"id\" is not 32 hexadecimal"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["pattern"].erase("origin"); }),
              HasSubstr("\"origin\" is not 64"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["pattern"].erase("embedding"); }),
              HasSubstr("has 0 values"));
  EXPECT_THAT(ErrorOfField("colour", 1), HasSubstr("colour: Cannot find field"));
  EXPECT_THAT(ErrorOfField("task", Json::array()), HasSubstr("task"));
  EXPECT_THAT(ErrorOfField("task", Json::object()), HasSubstr("task"));
  EXPECT_THAT(ErrorOfField("task", std::string(257, 'x')), HasSubstr("has 257 bytes"));
  EXPECT_THAT(ErrorOf([](Json* j) { *j = 7; }), HasSubstr("must be a message"));
  EXPECT_THAT(ErrorOf([](Json* j) { j->clear(); }), HasSubstr("neither \"pattern\" nor \"end\""));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["header"] = Json::object(); }), HasSubstr("already set"));
}

TEST(PatternFileTest, AFileSaysThatAdaptersWereLeftOut) {
  PatternFileHeader header = TwoValues();
  for (const bool without : {false, true}) {
    header.set_without_adapters(without);
    std::istringstream in(Written(header, {}));
    EXPECT_EQ(PatternFileReader::Open(in)->header().without_adapters(), without);
  }
}

// The file buffer throws where the disk, or something that is not a file, cannot be read.
TEST(PatternFileTest, WhatCannotBeReadIsAnError) {
  std::ifstream folder(testing::TempDir(), std::ios::binary);
  ASSERT_TRUE(folder.is_open());
  const auto reader = PatternFileReader::Open(folder);
  EXPECT_EQ(ReasonOf(reader.status()), reasons::kExportInvalid);
  EXPECT_THAT(MessageOf(reader.status()), HasSubstr("cannot be read"));
}

TEST(PatternFileTest, ALineThatIsTooLongIsNotParsed) {
  const std::string whole = Written(TwoValues(), {});
  const std::string head = whole.substr(0, whole.find('\n') + 1);
  EXPECT_THAT(MessageOf(ReadAll(head + std::string((12 << 20) + 1, ' ')).status()),
              HasSubstr("line 2: the line has more than 12582912 bytes"));
}

}  // namespace
}  // namespace ruvd::cli
