// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

const std::vector<uint64_t> kRow = {32};

absl::Status TensorStatus(const std::string& name, TensorType type,
                          const std::vector<uint64_t>& shape, size_t bytes) {
  GgufWriter writer;
  writer.AddTensor(name, type, shape, std::string(bytes, '\0'));
  return writer.Serialize().status();
}

TEST(GgufWriterTest, SameCallsGiveTheSameBytes) {
  const auto build = [] {
    GgufWriter writer;
    writer.SetString("b", "2");
    writer.SetString("a", "1");
    writer.AddTensor("x", TensorType::kF16, kRow, std::string(64, 'x'));
    return writer.Serialize().value();
  };
  EXPECT_EQ(build(), build());
}

TEST(GgufWriterTest, LayoutIsTheDocumentedOne) {
  GgufWriter writer;
  writer.SetBool("k", true);
  writer.AddTensor("x", TensorType::kF32, std::vector<uint64_t>{1}, std::string(4, 'x'));
  const std::string file = writer.Serialize().value();
  const std::string header(
      "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"  // version, counts
      "\1\0\0\0\0\0\0\0k\7\0\0\0\1"                   // key, type, value
      "\1\0\0\0\0\0\0\0x\1\0\0\0\1\0\0\0\0\0\0\0"     // name, shape
      "\0\0\0\0\0\0\0\0\0\0\0\0",                     // type, offset
      24 + 14 + 21 + 12);
  EXPECT_EQ(file.substr(0, header.size()), header);
  EXPECT_EQ(file.size() % 32, 0U);
  EXPECT_EQ(file.substr(96, 4), "xxxx");
}

TEST(GgufWriterTest, RefusesWhatAReaderWouldRefuse) {
  EXPECT_TRUE(TensorStatus("x", TensorType::kF32, kRow, 128).ok());
  EXPECT_THAT(MessageOf(TensorStatus("x", TensorType::kF32, kRow, 127)), HasSubstr("127 bytes"));
  EXPECT_THAT(MessageOf(TensorStatus("x", TensorType::kQ8_0, {33}, 34)), HasSubstr("multiple"));
  EXPECT_THAT(MessageOf(TensorStatus("x", TensorType::kF32, {}, 4)), HasSubstr("0 dimensions"));
  EXPECT_THAT(MessageOf(TensorStatus("x", TensorType::kF32, {1, 1, 1, 1, 1}, 4)),
              HasSubstr("5 dimensions"));
  EXPECT_THAT(MessageOf(TensorStatus("x", TensorType::kF32, {0}, 0)), HasSubstr("empty"));
  EXPECT_FALSE(TensorStatus("", TensorType::kF32, kRow, 128).ok());
  EXPECT_FALSE(TensorStatus(std::string(64, 'n'), TensorType::kF32, kRow, 128).ok());
  GgufWriter keys;
  keys.SetBool("k", true);
  keys.SetString("k", "again");
  EXPECT_THAT(MessageOf(keys.Serialize().status()), HasSubstr("\"k\""));
  GgufWriter tensors;
  tensors.AddTensor("x", TensorType::kF32, kRow, std::string(128, '\0'));
  tensors.AddTensor("x", TensorType::kF32, kRow, std::string(128, '\0'));
  EXPECT_THAT(MessageOf(tensors.Serialize().status()), HasSubstr("twice"));
}

TEST(GgufWriterTest, WritesAFileThatOpens) {
  const auto path = std::filesystem::temp_directory_path() / "ruvd_gguf_writer_test.gguf";
  GgufWriter writer;
  writer.SetString("general.architecture", "dream");
  writer.AddTensor("x", TensorType::kF32, kRow, std::string(128, 'x'));
  ASSERT_TRUE(writer.WriteTo(path.string()).ok());
  const auto reader = GgufReader::Open(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->Data((*reader)->tensors()[0])[5], 'x');
  EXPECT_EQ(ReasonOf(writer.WriteTo("/nonexistent/folder/x.gguf")), reasons::kFileUnwritable);
}

}  // namespace
}  // namespace ruvd::inference
