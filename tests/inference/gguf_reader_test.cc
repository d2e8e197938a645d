// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

const std::vector<uint64_t> kRow32 = {32};
const std::vector<uint64_t> kMatrix = {32, 3};

std::string F32Bytes(size_t count) {
  return std::string(count * 4, '\0');
}

// A small valid file with every kind of value and two tensors.
std::string SmallFile() {
  GgufWriter writer;
  writer.SetString("general.architecture", "dream");
  writer.SetUnsigned32("dream.block_count", 7);
  writer.SetFloat32("eps", 0.5F);
  writer.SetBool("flag", true);
  writer.SetStringArray("words", std::vector<std::string>{"a", "", "long \xFF bytes"});
  writer.SetInt32Array("types", std::vector<int32_t>{1, -2, 3});
  writer.SetFloatArray("scores", std::vector<float>{0.25F, -1.0F});
  writer.AddTensor("norm", TensorType::kF32, kRow32, F32Bytes(32));
  writer.AddTensor("matrix", TensorType::kQ8_0, kMatrix, std::string(3 * 34, '\1'));
  return writer.Serialize().value();
}

absl::Status ParseStatus(const std::string& file) {
  return GgufReader::Parse(AsBytes(file)).status();
}

// The file with `replacement` written over the bytes right after the only occurrence of `marker`.
std::string PatchAfter(std::string file, std::string_view marker, size_t skip,
                       std::string_view replacement) {
  const size_t at = file.find(marker);
  EXPECT_NE(at, std::string::npos);
  file.replace(at + marker.size() + skip, replacement.size(), replacement);
  return file;
}

std::string Bytes64(uint64_t value) {
  return ByteWriter().Write(value).Take();
}
std::string Bytes32(uint32_t value) {
  return ByteWriter().Write(value).Take();
}

// A header with the given counts and nothing else.
std::string Preamble(uint32_t version, uint64_t tensors, uint64_t keys) {
  return ByteWriter().WriteText("GGUF").Write(version).Write(tensors).Write(keys).Take();
}

void ExpectRefused(const std::string& file, const char* fault,
                   const char* reason = reasons::kModelCorrupt) {
  const absl::Status status = ParseStatus(file);
  ASSERT_FALSE(status.ok()) << "accepted a file with: " << fault;
  EXPECT_THAT(MessageOf(status), HasSubstr(fault));
  EXPECT_EQ(ReasonOf(status), reason);
}

TEST(GgufReaderTest, ReadsWhatTheWriterWrote) {
  const std::string file = SmallFile();
  const auto reader = GgufReader::Parse(AsBytes(file)).value();
  EXPECT_EQ(reader->GetString("general.architecture").value(), "dream");
  EXPECT_EQ(reader->GetUnsigned("dream.block_count").value(), 7U);
  EXPECT_EQ(reader->GetFloat("eps").value(), 0.5);
  EXPECT_TRUE(reader->GetBool("flag").value());
  EXPECT_THAT(reader->GetStringViews("words").value(),
              testing::ElementsAre("a", "", "long \xFF bytes"));
  EXPECT_THAT(reader->GetIntArray("types").value(), testing::ElementsAre(1, -2, 3));
  EXPECT_THAT(reader->GetFloatArray("scores").value(), testing::ElementsAre(0.25F, -1.0F));
  ASSERT_EQ(reader->tensors().size(), 2U);
  const TensorInfo* matrix = reader->Find("matrix");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->type, TensorType::kQ8_0);
  EXPECT_EQ(matrix->values(), 96U);
  EXPECT_EQ(AsText(reader->Data(*matrix)), std::string(3 * 34, '\1'));
  EXPECT_EQ(reader->Find("absent"), nullptr);
}

TEST(GgufReaderTest, NamesTheKeyThatIsMissingOrOfAnotherKind) {
  const std::string file = SmallFile();
  const auto reader = GgufReader::Parse(AsBytes(file)).value();
  EXPECT_FALSE(reader->Has("absent"));
  EXPECT_THAT(MessageOf(reader->GetUnsigned("absent").status()), HasSubstr("absent is missing"));
  EXPECT_THAT(MessageOf(reader->GetUnsigned("eps").status()),
              HasSubstr("eps is not a non-negative integer"));
  EXPECT_THAT(MessageOf(reader->GetUnsigned("types").status()), HasSubstr("types is not"));
  EXPECT_FALSE(reader->GetFloat("flag").ok());
  EXPECT_FALSE(reader->GetBool("eps").ok());
  EXPECT_FALSE(reader->GetString("words").ok());
  EXPECT_FALSE(reader->GetStringViews("types").ok());
  EXPECT_FALSE(reader->GetIntArray("scores").ok());
  EXPECT_FALSE(reader->GetFloatArray("types").ok());
}

TEST(GgufReaderTest, RefusesForeignAndFutureFiles) {
  ExpectRefused("", "bad magic");
  ExpectRefused("GGU", "bad magic");
  ExpectRefused("ELF!" + SmallFile().substr(4), "bad magic");
  ExpectRefused(Preamble(1, 0, 0), "unsupported version 1", reasons::kModelUnsupported);
  ExpectRefused(Preamble(4, 0, 0), "unsupported version 4", reasons::kModelUnsupported);
  ExpectRefused(Preamble(0x03000000, 0, 0), "big-endian", reasons::kModelUnsupported);
}

TEST(GgufReaderTest, RefusesHugeCountsBeforeAllocating) {
  ExpectRefused(Preamble(3, uint64_t{1} << 60, 0), "tensor count");
  ExpectRefused(Preamble(3, 0, uint64_t{1} << 60), "key count");
  const std::string file = SmallFile();
  ExpectRefused(PatchAfter(file, "words", 8, Bytes64(uint64_t{1} << 62)), "array length");
  ExpectRefused(PatchAfter(file, "general.architecture", 4, Bytes64(uint64_t{1} << 62)),
                "string length");
}

TEST(GgufReaderTest, RefusesBadValues) {
  const std::string file = SmallFile();
  ExpectRefused(PatchAfter(file, "eps", 0, Bytes32(99)), "unknown value type 99");
  ExpectRefused(PatchAfter(file, "types", 4, Bytes32(9)), "unknown value type 9");
  GgufWriter writer;
  writer.SetUnsigned32("general.alignment", 24);
  ExpectRefused(writer.Serialize().value(), "alignment 24");
}

TEST(GgufReaderTest, RefusesBadTensors) {
  const std::string file = SmallFile();
  ExpectRefused(PatchAfter(file, "matrix", 0, Bytes32(9)), "9 dimensions");
  ExpectRefused(PatchAfter(file, "matrix", 0, Bytes32(0)), "0 dimensions");
  ExpectRefused(PatchAfter(file, "matrix", 4, Bytes64(0)), "is zero");
  ExpectRefused(PatchAfter(file, "matrix", 4, Bytes64(33)), "not a multiple of the 32");
  ExpectRefused(PatchAfter(file, "matrix", 4, Bytes64(uint64_t{1} << 63)), "overflow");
  ExpectRefused(PatchAfter(file, "matrix", 12, Bytes64(uint64_t{1} << 61)), "overflow");
  ExpectRefused(PatchAfter(file, "matrix", 20, Bytes32(9999)), "unknown type 9999",
                reasons::kModelUnsupported);
  ExpectRefused(PatchAfter(file, "matrix", 24, Bytes64(8)), "alignment");
  ExpectRefused(PatchAfter(file, "matrix", 24, Bytes64(uint64_t{1} << 40)), "beyond the end");
  ExpectRefused(PatchAfter(file, "matrix", 24, Bytes64(~uint64_t{31})), "beyond the end");
  ExpectRefused(PatchAfter(file, "matrix", 24, Bytes64(0)), "overlap");
}

TEST(GgufReaderTest, RefusesNamesThatAppearTwice) {
  const std::string file = SmallFile();
  std::string same_key = file;
  same_key.replace(same_key.find("types"), 5, "words");
  ExpectRefused(same_key, "words appears twice");
  GgufWriter writer;
  writer.AddTensor("a1", TensorType::kF32, kRow32, F32Bytes(32));
  writer.AddTensor("a2", TensorType::kF32, kRow32, F32Bytes(32));
  std::string same_tensor = writer.Serialize().value();
  same_tensor.replace(same_tensor.find("a2"), 2, "a1");
  ExpectRefused(same_tensor, "a1 appears twice");
}

TEST(GgufReaderTest, RefusesEveryTruncation) {
  const std::string file = SmallFile();
  // The last tensor ends before its padding: its 102 bytes fill three full units of 32 and part of
  // a fourth.
  constexpr size_t kPadding = 4 * 32 - 3 * 34;
  for (size_t size = 0; size + kPadding < file.size(); ++size) {
    ASSERT_FALSE(ParseStatus(file.substr(0, size)).ok()) << "accepted " << size << " bytes";
  }
}

RC_GTEST_PROP(GgufReaderProperty, FlippedBytesNeverCrash, ()) {
  static const std::string kFile = SmallFile();
  std::string file = kFile;
  const size_t flips = *rc::gen::inRange<size_t>(1, 6);
  for (size_t i = 0; i < flips; ++i) {
    file[*rc::gen::inRange<size_t>(0, file.size())] = *rc::gen::arbitrary<char>();
  }
  const auto reader = GgufReader::Parse(AsBytes(file));
  if (!reader.ok()) {
    RC_ASSERT(!MessageOf(reader.status()).empty());
    return;
  }
  for (const TensorInfo& tensor : (*reader)->tensors()) {
    RC_ASSERT((*reader)->Data(tensor).size() == tensor.bytes);
  }
}

RC_GTEST_PROP(GgufReaderProperty, TensorsComeBackUnchanged, ()) {
  const auto sizes = *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(1, 200));
  GgufWriter writer;
  std::vector<std::string> contents;
  for (size_t i = 0; i < sizes.size(); ++i) {
    contents.push_back(std::string(sizes[i] * 4, static_cast<char>('a' + i % 26)));
    writer.AddTensor(fmt::format("t{}", i), TensorType::kF32, std::vector<uint64_t>{sizes[i]},
                     contents.back());
  }
  const std::string file = writer.Serialize().value();
  const auto reader = GgufReader::Parse(AsBytes(file)).value();
  RC_ASSERT(reader->tensors().size() == sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const TensorInfo* tensor = reader->Find(fmt::format("t{}", i));
    RC_ASSERT(tensor != nullptr);
    RC_ASSERT(AsText(reader->Data(*tensor)) == contents[i]);
  }
}

TEST(GgufReaderTest, MissingFileSaysSo) {
  EXPECT_EQ(ReasonOf(GgufReader::Open("/nonexistent/model.gguf").status()), reasons::kFileNotFound);
}

// The prepared files of ../shared, which are absent in a bare checkout.
class GgufFixtureTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) {
      GTEST_SKIP() << folder_ << " is absent";
    }
  }
  std::string Refusal(const std::string& name) {
    return MessageOf(GgufReader::Open((folder_ / name).string()).status());
  }
  std::filesystem::path folder_ =
      std::filesystem::path(test::SourceDir()) / "../shared/fixtures/broken";
};

TEST_F(GgufFixtureTest, BrokenFilesAreRefusedNamingTheFault) {
  EXPECT_THAT(Refusal("truncated-header.gguf"), HasSubstr("truncated"));
  EXPECT_THAT(Refusal("offset-beyond-file.gguf"),
              testing::AllOf(HasSubstr("blk.0.ffn_up.weight"), HasSubstr("beyond the end")));
  EXPECT_THAT(Refusal("huge-string-length.gguf"), HasSubstr("string length"));
  EXPECT_THAT(Refusal("nine-dimensions.gguf"),
              testing::AllOf(HasSubstr("blk.0.attn_q.weight"), HasSubstr("9 dimensions")));
  EXPECT_THAT(Refusal("unknown-type.gguf"),
              testing::AllOf(HasSubstr("blk.0.ffn_up.weight"), HasSubstr("9999")));
}

TEST_F(GgufFixtureTest, IntactFilesLoad) {
  for (const char* name : {"intact-F32.gguf", "intact-Q4_0.gguf"}) {
    const auto reader = GgufReader::Open((folder_ / name).string());
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_NE((*reader)->Find("blk.0.ffn_up.weight"), nullptr);
  }
}

}  // namespace
}  // namespace ruvd::inference
