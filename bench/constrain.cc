// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Measures what it costs to hold a completion to a grammar: the masks over the vocabulary, token by
// token, as a completion makes them.

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "bench/random_vocabulary.h"
#include "inference/constrain/constrained_text.h"
#include "inference/constrain/json_schema.h"
#include "inference/constrain/regex.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {
namespace {

constexpr char kSchema[] =
    R"({"type":"object","required":["name","age","tags","home"],"properties":{
        "name":{"type":"string","maxLength":40},"age":{"type":"integer","minimum":0},
        "tags":{"type":"array","items":{"type":"string"},"maxItems":8},
        "home":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}}})";
constexpr char kText[] =
    R"({"name": "Anna Maria", "age": 34, "tags": ["keeps a boat", "reads at night", "walks"], )"
    R"("home": {"street": "At the old harbour 12", "city": "Stralsund"}})";
constexpr char kExpression[] =
    "[A-Z][a-z]+ (came|went) to the [a-z]+ on [0-9]{4}-[0-9]{2}-[0-9]{2}";
constexpr char kSentence[] = "Anna went to the harbour on 2026-11-30";

// A vocabulary of strings of letters, as many as asked for.
struct Vocabulary {
  std::unique_ptr<Tokenizer> tokenizer;
  std::shared_ptr<const TokenTrie> trie;
};

const Vocabulary& VocabularyOf(int64_t size) {
  static std::map<int64_t, Vocabulary> made;
  Vocabulary& vocabulary = made[size];
  if (vocabulary.tokenizer == nullptr) {
    GgufWriter writer;
    bench::AddVocabulary(static_cast<size_t>(size), &writer);
    const std::string file = writer.Serialize().value();
    vocabulary.tokenizer = Tokenizer::FromGguf(*GgufReader::Parse(AsBytes(file)).value()).value();
    vocabulary.trie = TokenTrie::Build(*vocabulary.tokenizer);
  }
  return vocabulary;
}

void WriteText(benchmark::State& state, const std::shared_ptr<const Grammar>& grammar,
               const std::string& text) {
  const auto& [tokenizer_of, trie] = VocabularyOf(state.range(0));
  const Tokenizer& tokenizer = *tokenizer_of;
  const std::vector<TokenId> tokens = tokenizer.EncodeContinuation(text);
  const auto constraint =
      std::make_shared<TextConstraint>(TextConstraint{.grammar = grammar, .tokens = trie});
  std::vector<float> logits(tokenizer.size());
  for (auto _ : state) {
    ConstrainedText written(constraint, {tokenizer.eos_id().value()});
    for (const TokenId token : tokens) {
      RUVD_CHECK(written.Mask(logits).ok());
      written.Add(token);
    }
  }
  const auto count = static_cast<int64_t>(tokens.size());
  state.SetItemsProcessed(state.iterations() * count);
}

void BM_MasksOfASchema(benchmark::State& state) {
  WriteText(state, GrammarOfJsonSchema(kSchema).value(), kText);
}
BENCHMARK(BM_MasksOfASchema)->Arg(8192)->Arg(151'936);

void BM_MasksOfJson(benchmark::State& state) {
  WriteText(state, GrammarOfJson().value(), kText);
}
BENCHMARK(BM_MasksOfJson)->Arg(8192)->Arg(151'936);

void BM_MasksOfAnExpression(benchmark::State& state) {
  WriteText(state, GrammarOfRegex(kExpression).value(), kSentence);
}
BENCHMARK(BM_MasksOfAnExpression)->Arg(8192)->Arg(151'936);

void BM_CompileSchema(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(GrammarOfJsonSchema(kSchema));
  }
}
BENCHMARK(BM_CompileSchema);

void BM_BuildTrie(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(TokenTrie::Build(*VocabularyOf(state.range(0)).tokenizer));
  }
}
BENCHMARK(BM_BuildTrie)->Arg(8192)->Arg(151'936);

}  // namespace
}  // namespace ruvd::inference
