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

#include "base/base64.h"
#include "base/bytes.h"
#include "base/status.h"
#include "node/reasons.h"

namespace ruvd::cli {
namespace {

using google::protobuf::util::MessageDifferencer;
using pattern::v1::Pattern;
using testing::HasSubstr;

PatternFileHeader TwoValues() {
  return {.model_package = std::string(64, 'a'),
          .model_name = "a model",
          .dimension = 2,
          .node_id = std::string(64, 'b'),
          .exported_ms = 1'700'000'000'000};
}

Pattern SomePattern() {
  Pattern pattern;
  pattern.set_id("000102030405060708090a0b0c0d0e0f");
  pattern.set_bank(2);
  pattern.set_task("Br\xC3\xBC\x63ke \"\\\n");
  pattern.set_tier(pattern::v1::SHARING_TIER_PUBLIC);
  pattern.set_quality(0.1F);
  pattern.set_uses(std::numeric_limits<uint32_t>::max());
  pattern.set_examples(3);
  pattern.set_origin(std::string(64, 'c'));
  pattern.set_created_ms(1);
  pattern.set_updated_ms(std::numeric_limits<int64_t>::max());
  pattern.set_expires_ms(4);
  pattern.mutable_embedding()->add_values(1.0F);
  pattern.mutable_embedding()->add_values(-std::numeric_limits<float>::denorm_min());
  pattern.set_adapter(std::string("\0\xFF bytes", 8));
  return pattern;
}

std::string Written(const PatternFileHeader& header, const std::vector<Pattern>& patterns) {
  std::string bytes;
  PatternFileWriter writer([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  EXPECT_TRUE(writer.Begin(header).ok());
  for (const Pattern& pattern : patterns) {
    EXPECT_TRUE(writer.Add(pattern).ok());
  }
  EXPECT_TRUE(writer.End().ok());
  return bytes;
}

absl::StatusOr<std::vector<Pattern>> ReadAll(const std::string& bytes) {
  std::istringstream in(bytes);
  ASSIGN_OR_RETURN(PatternFileReader reader, PatternFileReader::Open(in));
  std::vector<Pattern> patterns;
  for (;;) {
    ASSIGN_OR_RETURN(auto pattern, reader.Next());
    if (!pattern) {
      return patterns;
    }
    patterns.push_back(*std::move(pattern));
  }
}

// Returns the error of a file of one pattern whose line was changed, with a last line that fits it.
std::string ErrorOf(const std::function<void(nlohmann::ordered_json*)>& change) {
  const std::string whole = Written(TwoValues(), {SomePattern()});
  const size_t first = whole.find('\n') + 1;
  auto line = nlohmann::ordered_json::parse(whole.substr(first, whole.find('\n', first) - first));
  change(&line);
  const std::string body = whole.substr(0, first) + line.dump() + "\n";
  const absl::Status status =
      ReadAll(body + "{\"patterns\":1,\"sha256\":\"" + ToHex(Sha256(body)) + "\"}\n").status();
  EXPECT_EQ(ReasonOf(status), reasons::kExportInvalid);
  EXPECT_THAT(MessageOf(status), HasSubstr("line 2: "));
  return MessageOf(status);
}

TEST(PatternFileTest, WhatIsWrittenIsReadAgain) {
  Pattern bare = SomePattern();
  bare.clear_adapter();
  bare.set_task("");
  const std::string bytes = Written(TwoValues(), {SomePattern(), bare});
  const auto patterns = ReadAll(bytes);
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  ASSERT_EQ(patterns->size(), 2u);
  EXPECT_TRUE(MessageDifferencer::Equals((*patterns)[0], SomePattern()));
  EXPECT_TRUE(MessageDifferencer::Equals((*patterns)[1], bare));
  std::istringstream in(bytes);
  const auto reader = PatternFileReader::Open(in);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->header().dimension, 2u);
  EXPECT_EQ(reader->header().model_package, TwoValues().model_package);
  EXPECT_EQ(reader->header().model_name, "a model");
}

// This is the example of docs/pattern-export.md.
TEST(PatternFileTest, TheBytesAreThoseOfTheDocumentation) {
  Pattern pattern = SomePattern();
  pattern.set_task("");
  pattern.set_quality(0.5F);
  pattern.set_uses(7);
  pattern.set_updated_ms(2);
  pattern.set_expires_ms(0);
  pattern.mutable_embedding()->set_values(1, -2.0F);
  pattern.set_adapter("abc");
  EXPECT_EQ(Written(TwoValues(), {pattern}),
            "{\"ruvd_patterns\":1,\"model_package\":\"" + std::string(64, 'a') +
                "\",\"model_name\":\"a model\",\"dimension\":2,\"node_id\":\"" +
                std::string(64, 'b') +
                "\",\"exported_ms\":1700000000000}\n"
                "{\"id\":\"000102030405060708090a0b0c0d0e0f\",\"origin\":\"" +
                std::string(64, 'c') +
                "\",\"task\":\"\",\"tier\":\"public\",\"bank\":2,\"quality\":0.5,\"uses\":7,"
                "\"examples\":3,\"created_ms\":1,\"updated_ms\":2,\"expires_ms\":0,"
                "\"embedding\":\"AACAPwAAAMA=\",\"adapter\":\"YWJj\"}\n"
                "{\"patterns\":1,\"sha256\":"
                "\"425e7b7948dc08572efb619dc0e5b4a569cde6990d14391697a7a7171af84095\"}\n");
}

TEST(PatternFileTest, AnEmptyExportIsOne) {
  const auto patterns = ReadAll(Written(TwoValues(), {}));
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  EXPECT_TRUE(patterns->empty());
}

TEST(PatternFileTest, EveryFileThatWasCutIsNoticed) {
  const std::string bytes = Written(TwoValues(), {SomePattern(), SomePattern()});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::Status status = ReadAll(bytes.substr(0, size)).status();
    EXPECT_EQ(ReasonOf(status), reasons::kExportInvalid) << size;
    EXPECT_THAT(MessageOf(status), HasSubstr("line ")) << size;
  }
}

TEST(PatternFileTest, EveryByteThatWasChangedIsNoticed) {
  const std::string bytes = Written(TwoValues(), {SomePattern()});
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(ReasonOf(ReadAll(changed).status()), reasons::kExportInvalid) << at;
  }
}

TEST(PatternFileTest, LinesThatAreMissingOrTooManyAreNoticed) {
  const std::string bytes = Written(TwoValues(), {SomePattern(), SomePattern()});
  const size_t first = bytes.find('\n') + 1;
  const size_t second = bytes.find('\n', first) + 1;
  EXPECT_THAT(MessageOf(ReadAll(bytes.substr(0, first) + bytes.substr(second)).status()),
              HasSubstr("has 1 patterns, but its last line counts 2"));
  EXPECT_THAT(MessageOf(ReadAll(bytes + "\n").status()), HasSubstr("more data after"));
}

TEST(PatternFileTest, ForeignFilesAreToldApart) {
  EXPECT_THAT(MessageOf(ReadAll("PNG").status()), HasSubstr("not a file of `ruvd pattern export`"));
  EXPECT_THAT(MessageOf(ReadAll("{}\n").status()), HasSubstr("not a file of"));
  std::string newer = Written(TwoValues(), {});
  newer.replace(newer.find(":1"), 2, ":2");
  EXPECT_THAT(MessageOf(ReadAll(newer).status()), HasSubstr("has version 2"));
}

TEST(PatternFileTest, ALineSaysWhatIsWrongWithIt) {
  using Json = nlohmann::ordered_json;
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["embedding"] = "AACAPw=="; }),
              HasSubstr("has 4 bytes, but the first line says 2 values"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["embedding"] = "AACAPwAAAM"; }), HasSubstr("not base64"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["embedding"] = "AACAPwAAwH8="; }),
              HasSubstr("not finite"));
  // No node stores such values, but `import --check` found nothing wrong with them.
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["embedding"] = "AAAAAAAAAIA="; }), HasSubstr("all zero"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["bank"] = 3; }), HasSubstr("from 0 to 2"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["tier"] = "dp"; }), HasSubstr("use private or public"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["quality"] = 1.5; }), HasSubstr("\"quality\" is 1.5"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["quality"] = "good"; }), HasSubstr("not a number"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["uses"] = -1; }), HasSubstr("\"uses\""));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["bank"] = 1.0; }), HasSubstr("not a whole number"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["id"] = "00"; }), HasSubstr("not 32 hexadecimal"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["tier"] = "secret"; }),
              HasSubstr("is not private, masked"));
  EXPECT_THAT(ErrorOf([](Json* j) { j->erase("origin"); }), HasSubstr("\"origin\" is missing"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["colour"] = 1; }), HasSubstr("\"colour\" is not a key"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["task"] = Json::array(); }), HasSubstr("is a list"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["task"] = Json::object(); }), HasSubstr("is an object"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["task"] = nullptr; }), HasSubstr("is null"));
  EXPECT_THAT(ErrorOf([](Json* j) { (*j)["task"] = std::string(257, 'x'); }),
              HasSubstr("has 257 bytes"));
  EXPECT_THAT(ErrorOf([](Json* j) { *j = 7; }), HasSubstr("not an object"));
}

TEST(PatternFileTest, AFileSaysThatAdaptersWereLeftOut) {
  PatternFileHeader header = TwoValues();
  for (const bool without : {false, true}) {
    header.without_adapters = without;
    std::istringstream in(Written(header, {}));
    EXPECT_EQ(PatternFileReader::Open(in)->header().without_adapters, without);
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

TEST(PatternFileTest, AKeyThatIsThereTwiceIsRefused) {
  const std::string whole = Written(TwoValues(), {SomePattern()});
  std::string twice = whole;
  twice.replace(twice.find("{\"id\""), 1, "{\"bank\":0,");
  EXPECT_THAT(MessageOf(ReadAll(twice).status()), HasSubstr("\"bank\" occurs twice"));
}

}  // namespace
}  // namespace ruvd::cli
