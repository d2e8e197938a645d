// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/model/model.h"
#include "tests/paths.h"

// A whole model file with exactly one fault, of every kind, is refused with a message that names
// the fault.
namespace ruvd::inference {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ShippedPath() {
  return (std::filesystem::path(test::SourceDir()) / "deploy/models/ruvdllm-5m.q8_0.gguf").string();
}

class BrokenFileTest : public testing::Test {
 protected:
  BrokenFileTest()
      : path_(std::filesystem::path(testing::TempDir()) /
              fmt::format("ruvd_broken_{}.gguf",
                          testing::UnitTest::GetInstance()->current_test_info()->name())),
        file_(ReadFile(ShippedPath(), 1 << 26).value()) {}
  ~BrokenFileTest() override { std::filesystem::remove(path_); }

  absl::Status Load(std::string_view file) {
    EXPECT_TRUE(WriteFileAtomically(path_.string(), file).ok());
    return Model::Load(path_.string()).status();
  }
  // Returns the loader's refusal of the file with `replacement` written at `at`.
  std::string Refusal(size_t at, std::string_view replacement,
                      const char* reason = reasons::kModelCorrupt) {
    std::string broken = file_;
    broken.replace(at, replacement.size(), replacement);
    const absl::Status status = Load(broken);
    EXPECT_EQ(ReasonOf(status), reason) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(path_.string()));
    return MessageOf(status);
  }
  // Offset of the description that follows a tensor's name: dimensions, shape, type, offset.
  size_t Description(const std::string& name) {
    const std::string stored = ByteWriter().Write<uint64_t>(name.size()).WriteText(name).Take();
    const size_t at = file_.find(stored);
    EXPECT_NE(at, std::string::npos) << name;
    return at + stored.size();
  }
  static std::string Bytes64(uint64_t value) { return ByteWriter().Write(value).Take(); }
  static std::string Bytes32(uint32_t value) { return ByteWriter().Write(value).Take(); }

  std::filesystem::path path_;
  std::string file_;
};

// Positions within the description of a matrix
constexpr size_t kShape = 4;
constexpr size_t kType = kShape + 2 * 8;
constexpr size_t kOffset = kType + 4;

TEST_F(BrokenFileTest, TheIntactFileLoads) {
  EXPECT_TRUE(Load(file_).ok());
}

TEST_F(BrokenFileTest, BadMagic) {
  EXPECT_THAT(Refusal(0, "GGML"), HasSubstr("bad magic"));
}

TEST_F(BrokenFileTest, UnsupportedVersion) {
  for (const uint32_t version : {0U, 1U, 4U, 0xFFFFFFFFU}) {
    EXPECT_THAT(Refusal(4, Bytes32(version), reasons::kModelUnsupported),
                HasSubstr(fmt::format("unsupported version {}", version)));
  }
}

TEST_F(BrokenFileTest, HugeTensorCount) {
  for (const uint64_t count : {uint64_t{1} << 17, uint64_t{1} << 62, ~uint64_t{0}}) {
    EXPECT_THAT(Refusal(8, Bytes64(count)), HasSubstr(fmt::format("tensor count {}", count)));
  }
}

TEST_F(BrokenFileTest, MoreTensorsThanThereAre) {
  // The length is within the limit, so the reader runs into the data section, whose bytes are no
  // header.
  EXPECT_FALSE(Refusal(8, Bytes64(60000)).empty());
}

TEST_F(BrokenFileTest, HugeKeyCount) {
  EXPECT_THAT(Refusal(16, Bytes64(~uint64_t{0})), HasSubstr("key count"));
}

TEST_F(BrokenFileTest, DimensionProductOverflow) {
  const std::string name = "blk.2.ffn_up.weight";
  const size_t at = Description(name);
  EXPECT_THAT(Refusal(at + kShape, Bytes64(uint64_t{1} << 63)),
              AllOf(HasSubstr(name), HasSubstr("overflow")));
  EXPECT_THAT(Refusal(at + kShape + 8, Bytes64(uint64_t{1} << 60)),
              AllOf(HasSubstr(name), HasSubstr("overflow")));
  // The product of these wraps around to a small number.
  EXPECT_THAT(Refusal(at + kShape, Bytes64(uint64_t{1} << 33) + Bytes64((uint64_t{1} << 31) + 1)),
              AllOf(HasSubstr(name), HasSubstr("overflow")));
}

TEST_F(BrokenFileTest, OverlappingTensors) {
  const std::string name = "blk.1.attn_k.weight";
  const size_t at = Description(name) + kOffset;
  const uint64_t offset = *ByteReader(AsBytes(file_).subspan(at)).Read<uint64_t>();
  EXPECT_THAT(Refusal(at, Bytes64(offset - 32)), AllOf(HasSubstr("overlap"), HasSubstr(name)));
  EXPECT_THAT(Refusal(at, Bytes64(0)), AllOf(HasSubstr("overlap"), HasSubstr(name)));
}

TEST_F(BrokenFileTest, TensorBeyondTheFile) {
  const std::string name = "output_norm.weight";
  const size_t at = Description(name) + 4 + 8 + 4;  // it has one dimension
  EXPECT_THAT(Refusal(at, Bytes64(uint64_t{1} << 30)),
              AllOf(HasSubstr(name), HasSubstr("beyond the end of the file")));
}

TEST_F(BrokenFileTest, UnknownType) {
  const std::string name = "blk.0.attn_q.weight";
  EXPECT_THAT(Refusal(Description(name) + kType, Bytes32(39), reasons::kModelUnsupported),
              AllOf(HasSubstr(name), HasSubstr("39")));
}

TEST_F(BrokenFileTest, MissingRequiredKeys) {
  const auto whole = GgufReader::Parse(AsBytes(file_)).value();
  for (const char* missing :
       {"general.architecture", "dream.block_count", "dream.context_length",
        "dream.embedding_length", "dream.feed_forward_length", "dream.attention.head_count",
        "dream.attention.layer_norm_rms_epsilon", "tokenizer.ggml.model", "tokenizer.ggml.tokens",
        "tokenizer.ggml.merges"}) {
    ASSERT_TRUE(whole->Has(missing)) << missing;
    GgufWriter writer;
    for (const std::string& key : whole->Keys()) {
      if (key != missing) {
        writer.SetRaw(key, *whole->RawValue(key));
      }
    }
    for (const TensorInfo& tensor : whole->tensors()) {
      writer.AddTensor(tensor.name, tensor.type, std::span(tensor.shape).first(tensor.dimensions),
                       std::string(AsText(whole->Data(tensor))));
    }
    const absl::Status status = Load(writer.Serialize().value());
    EXPECT_FALSE(status.ok()) << "loads without " << missing;
    EXPECT_THAT(MessageOf(status), HasSubstr(missing));
  }
}

TEST_F(BrokenFileTest, MissingTensor) {
  const std::string name = "blk.3.ffn_gate.weight";
  std::string broken = file_;
  broken.replace(broken.find(name), name.size(), "blk.3.ffn_gone.weight");
  EXPECT_THAT(MessageOf(Load(broken)), HasSubstr("blk.3.ffn_g"));
}

}  // namespace
}  // namespace ruvd::inference
