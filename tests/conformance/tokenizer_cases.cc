// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/tokenizer/tokenizer.h"
#include "tests/conformance/suite.h"
#include "tests/conformance/zstd_file.h"

namespace ruvd::conformance {
namespace {

// Returns null after reporting a failure.
std::unique_ptr<inference::Tokenizer> LoadTokenizer(const Suite& suite, const std::string& id,
                                                    const inference::GgufReader& gguf) {
  auto tokenizer = inference::Tokenizer::FromGguf(gguf);
  if (!tokenizer.ok()) {
    suite.report->Fail(id, MessageOf(tokenizer.status()));
    return nullptr;
  }
  return *std::move(tokenizer);
}

void CheckIds(const Suite& suite, const std::string& id, const inference::Tokenizer& tokenizer,
              const std::string& text, const std::vector<inference::TokenId>& expected) {
  const std::vector<inference::TokenId> actual = tokenizer.Encode(text);
  if (actual != expected) {
    suite.report->Fail(
        id, fmt::format("text {} gives [{}] instead of [{}]", nlohmann::json(text).dump(),
                        fmt::join(actual, " "), fmt::join(expected, " ")));
    return;
  }
  suite.report->Pass();
}

absl::Status RunVocabulary(const Suite& suite, const std::string& id, const nlohmann::json& entry) {
  ASSIGN_OR_RETURN(const std::string file,
                   ReadZstdFile(suite.Path(entry.at("vocabulary")), kMaxFixtureBytes));
  ASSIGN_OR_RETURN(const auto gguf, inference::GgufReader::Parse(AsBytes(file)));
  const auto tokenizer = LoadTokenizer(suite, id, *gguf);
  if (tokenizer == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::string rest, ReadFile(suite.Path(entry.at("inputs")), kMaxFixtureBytes));
  ASSIGN_OR_RETURN(const std::string ids,
                   ReadFile(suite.Path(entry.at("expected")), kMaxFixtureBytes));
  std::istringstream lines(ids);
  const std::string separator = "\n__ggml_vocab_test__\n";
  int cases = 0;
  for (size_t at = rest.find(separator); at != std::string::npos; at = rest.find(separator)) {
    std::string line;
    std::getline(lines, line);
    std::istringstream numbers(line);
    CheckIds(suite, fmt::format("{} case {}", id, cases), *tokenizer, rest.substr(0, at),
             {std::istream_iterator<inference::TokenId>(numbers), {}});
    rest.erase(0, at + separator.size());
    ++cases;
  }
  if (cases != entry.at("cases").get<int>()) {
    suite.report->Fail(id, fmt::format("has {} cases", cases));
  }
  return absl::OkStatus();
}

absl::Status RunText(const Suite& suite, const std::string& id, const nlohmann::json& entry) {
  ASSIGN_OR_RETURN(const auto gguf, inference::GgufReader::Open(suite.Path(entry.at("model"))));
  const auto tokenizer = LoadTokenizer(suite, id, *gguf);
  if (tokenizer != nullptr) {
    CheckIds(suite, id, *tokenizer, entry.at("text").get<std::string>(),
             entry.at("ids").get<std::vector<inference::TokenId>>());
  }
  return absl::OkStatus();
}

}  // namespace

void RunTokenizers(const Suite& suite) {
  for (const auto& entry : suite.manifest.at("tokenizers")) {
    const std::string id = entry.at("vocabulary").get<std::string>();
    if (absl::Status status = RunVocabulary(suite, id, entry); !status.ok()) {
      suite.report->Fail(id, MessageOf(status));
    }
  }
  int number = 0;
  for (const auto& entry : suite.manifest.at("tokenize")) {
    const std::string id = fmt::format("tokenize {}", number++);
    if (absl::Status status = RunText(suite, id, entry); !status.ok()) {
      suite.report->Fail(id, MessageOf(status));
    }
  }
}

}  // namespace ruvd::conformance
