// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_tokenizer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/import/hf_sentence_piece.h"
#include "inference/import/json.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;

// Equivalent spellings of the English contractions, which are found in tokenizer files.
constexpr std::string_view kContractions[] = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])",
    "'(?i:[sdmt]|ll|ve|re)",
    "(?:'(?i:[sdmt]|ll|ve|re))",
};

// The expression after the contractions, and GGUF's name for the whole.
struct KnownSplit {
  std::string_view tail;
  std::string_view pre;
};
constexpr KnownSplit kSplits[] = {
    {R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "qwen2"},
    {R"(|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     "llada-moe"},
    {R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "qwen35"},
    {R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "seed-coder"},
    {R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "smaug-bpe"},
};

// Mistral's expression does not begin with contractions.
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  const std::string fault = fmt::format(format, std::forward<Args>(args)...);
  return Error(absl::StatusCode::kDataLoss, reasons::kTokenizerInvalid,
               "tokenizer.json: {}; supported is byte-level BPE split as in GPT-2, Qwen2, Llama 3, "
               "StarCoder or Mistral, and SentencePiece's BPE",
               fault);
}

// Returns the expression of a Split step, or "" if `step` is not a Split step.
std::string SplitExpression(const json& step) {
  const json* pattern = JsonMember(step, "pattern");
  if (JsonString(step, "type") != "Split" || pattern == nullptr) {
    return "";
  }
  return JsonString(*pattern, "Regex").value_or("");
}

// Returns GGUF's name of a splitter with this expression.
std::optional<std::string> NameOfSplit(std::string_view expression) {
  if (expression == kTekken) {
    return "tekken";
  }
  for (const std::string_view contractions : kContractions) {
    for (const KnownSplit& known : kSplits) {
      if (expression.starts_with(contractions) &&
          expression.substr(contractions.size()) == known.tail) {
        return std::string(known.pre);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> SplitterOf(const json& root) {
  const json* pre = JsonMember(root, "pre_tokenizer");
  if (pre == nullptr) {
    return std::nullopt;
  }
  if (JsonString(*pre, "type") == "ByteLevel") {  // uses GPT-2's own expression
    return JsonBool(*pre, "use_regex").value_or(true) ? std::optional<std::string>("gpt-2")
                                                      : std::nullopt;
  }
  const json* steps = JsonMember(*pre, "pretokenizers");
  if (steps == nullptr || !steps->is_array() || steps->size() != 2) {
    return std::nullopt;
  }
  const json& first = (*steps)[0];
  const json& bytes = (*steps)[1];
  if (JsonString(bytes, "type") != "ByteLevel") {
    return std::nullopt;
  }
  if (JsonBool(bytes, "use_regex").value_or(true)) {  // single digits, then GPT-2's expression
    const bool digits = JsonString(first, "type") == "Digits" &&
                        JsonBool(first, "individual_digits").value_or(false);
    return digits ? std::optional<std::string>("starcoder") : std::nullopt;
  }
  return NameOfSplit(SplitExpression(first));
}

// Returns the value of tokenizer.ggml.pre. Llama 3's and Mistral's pre-tokenisers take a word that
// is a token whole (for Mistral's, merging would give the same token anyway). With any other one,
// ignore_merges is not supported.
std::optional<std::string> PreTokenizerOf(const json& root, const json& model) {
  std::optional<std::string> splitter = SplitterOf(root);
  if (splitter == "tekken" || !JsonBool(model, "ignore_merges").value_or(false)) {
    return splitter;
  }
  return splitter == "smaug-bpe" ? std::optional<std::string>("llama-bpe") : std::nullopt;
}

// Returns whether a step of the post-processor puts a special token before a single text; nullopt
// if the step does not say.
std::optional<bool> StepAddsBos(const json& step) {
  const json* single = JsonMember(step, "single");
  if (JsonString(step, "type") != "TemplateProcessing" || single == nullptr ||
      !single->is_array() || single->empty()) {
    return std::nullopt;
  }
  return JsonMember(single->front(), "SpecialToken") != nullptr;
}

bool AddsBos(const json& root) {
  const json* post = JsonMember(root, "post_processor");
  if (post == nullptr) {
    return false;
  }
  const json* steps = JsonMember(*post, "processors");  // the steps of a sequence
  if (steps == nullptr || !steps->is_array()) {
    return StepAddsBos(*post).value_or(false);
  }
  for (const json& step : *steps) {
    if (const auto adds = StepAddsBos(step)) {
      return *adds;
    }
  }
  return false;
}

absl::Status Place(std::string token, uint64_t id, int32_t type, HfTokenizer* out) {
  if (id >= out->tokens.size()) {
    return Invalid("token id {} lies outside the vocabulary of {} in config.json", id,
                   out->tokens.size());
  }
  // An added token may repeat an entry of the vocabulary, but may not give the same id another
  // spelling.
  const bool taken = out->types[id] != kHfUnused;
  if (token.empty() || (taken && (out->tokens[id] != token || type == kHfNormal))) {
    return Invalid("token id {} is empty or given twice", id);
  }
  out->tokens[id] = std::move(token);
  out->types[id] = type;
  return absl::OkStatus();
}

absl::Status ReadTokens(const json& root, const json& model, HfTokenizer* out) {
  const json* vocabulary = JsonMember(model, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) {
    return Invalid("model.vocab is missing");
  }
  for (const auto& [token, id] : vocabulary->items()) {
    if (!id.is_number_unsigned()) {
      return Invalid("a token id is not an integer");
    }
    RETURN_IF_ERROR(Place(token, id.get<uint64_t>(), kHfNormal, out));
  }
  const json* added = JsonMember(root, "added_tokens");
  if (added == nullptr) {
    return absl::OkStatus();
  }
  if (!added->is_array()) {
    return Invalid("added_tokens is not an array");
  }
  for (const json& token : *added) {
    const auto id = JsonUnsigned(token, "id");
    const auto content = JsonString(token, "content");
    if (!id || !content) {
      return Invalid("an added token has no id or content");
    }
    const bool special = JsonBool(token, "special").value_or(false);
    RETURN_IF_ERROR(Place(*content, *id, special ? kHfControl : kHfUserDefined, out));
  }
  return absl::OkStatus();
}

// A merge is "left right" or, in newer files, ["left", "right"].
absl::Status ReadMerges(const json& model, HfTokenizer* out) {
  const json* merges = JsonMember(model, "merges");
  if (merges == nullptr || !merges->is_array()) {
    return Invalid("model.merges is missing");
  }
  for (const json& merge : *merges) {
    if (merge.is_string()) {
      out->merges.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      out->merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      return Invalid("merge {} is not two pieces", out->merges.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HfTokenizer> ParseHfTokenizer(std::string_view text, uint64_t vocabulary) {
  ASSIGN_OR_RETURN(const json root, ParseJsonObject(text, "tokenizer.json"));
  const json* model = JsonMember(root, "model");
  const std::string type = model == nullptr ? "" : JsonString(*model, "type").value_or("");
  if (type != "BPE") {
    return Invalid("the model \"{}\" is not BPE", SanitizeForDisplay(type));
  }
  const bool pieces = JsonBool(*model, "byte_fallback").value_or(false);
  const auto pre = pieces ? std::optional<std::string>("") : PreTokenizerOf(root, *model);
  if (!pre) {
    return Invalid("the pre-tokeniser is not known");
  }
  HfTokenizer out;
  out.pre = *pre;
  out.add_bos = AddsBos(root);
  out.tokens.resize(vocabulary);
  out.types.assign(vocabulary, kHfUnused);
  RETURN_IF_ERROR(ReadTokens(root, *model, &out));
  RETURN_IF_ERROR(ReadMerges(*model, &out));
  for (size_t id = 0; id < out.tokens.size(); ++id) {
    if (out.types[id] == kHfUnused) {
      out.tokens[id] = fmt::format("[PAD{}]", id);
    }
  }
  if (pieces) {
    RETURN_IF_ERROR(ToSentencePieces(root, *model, &out));
  }
  return out;
}

}  // namespace ruvd::inference
