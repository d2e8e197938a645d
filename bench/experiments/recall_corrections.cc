// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a node says after it was corrected: `recall_corrections --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/corrections.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/served_node.h"
#include "bench/study_prompts.h"
#include "bench/text_measures.h"
#include "inference/model/model.h"
#include "ruvd/node/v1/node.pb.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "What a node says after it was corrected, over its API. Thirty completions are corrected to\n"
    "say something that no model knows; then the same prompts, a paraphrase of each and thirty\n"
    "prompts about other things are completed. Recall is the share of completions that have the\n"
    "words of the correction; exactly means that nothing comes before or behind them. On the other "
    "prompts it shows what the corrections spoil: their\n"
    "words in texts about other things, loops (a piece of tokens that comes three times), and "
    "fewer\n"
    "different pairs of tokens (distinct-2).";

struct Arguments {
  std::string model;
  std::string out;
  std::string samples;  // Markdown file of the completions before and after
  std::vector<std::string> settings;
  int threads = 2;
  bool apart = false;  // each correction is of a user of its own
};

constexpr std::array<std::pair<const char*, inference::v1::DecodingMode>, 3> kModes = {
    {{"block", inference::v1::DECODING_MODE_BLOCK},
     {"diffusion", inference::v1::DECODING_MODE_DIFFUSION},
     {"autoregressive", inference::v1::DECODING_MODE_AUTOREGRESSIVE}}};
constexpr uint32_t kTokens = 24;

// The completions of all prompts in one mode.
struct Texts {
  std::vector<std::string> same;
  std::vector<std::string> paraphrased;
  std::vector<std::string> other;
};

// A node and whose corrections it gets.
struct Taught {
  ServedNode* node = nullptr;
  bool apart = false;
  std::string UserOf(size_t correction) const {
    return apart ? fmt::format("reader {}", correction) : "reader";
  }
};

// Completes a prompt as the user of a correction.
absl::StatusOr<inference::v1::Finished> Complete(const Taught& taught, size_t correction,
                                                 const std::string& prompt,
                                                 inference::v1::DecodingMode mode,
                                                 std::string* text) {
  inference::v1::GenerateRequest request;
  request.set_prompt(prompt);
  request.set_user_id(taught.UserOf(correction));
  request.mutable_sampling()->set_mode(mode);
  request.mutable_sampling()->set_max_tokens(kTokens);
  request.mutable_sampling()->set_seed(1);
  return taught.node->Generate(request, text);
}

absl::StatusOr<Texts> CompleteAll(const Taught& taught, inference::v1::DecodingMode mode) {
  Texts texts;
  for (size_t i = 0; i < kCorrections.size(); ++i) {
    for (const auto& [prompt, out] : {std::pair(kCorrections[i].prompt, &texts.same),
                                      std::pair(kCorrections[i].paraphrase, &texts.paraphrased),
                                      std::pair(kReportingPrompts[i], &texts.other)}) {
      RETURN_IF_ERROR(Complete(taught, i, prompt, mode, &out->emplace_back()).status());
    }
  }
  return texts;
}

// Waits until the node has read what it was taught.
absl::Status WaitForMemory(ServedNode& node) {
  constexpr auto kAskEvery = std::chrono::milliseconds(100);
  const Clock& clock = SystemClock();
  const TimePoint end = clock.Now() + std::chrono::minutes(1);
  while (clock.Now() < end) {
    ASSIGN_OR_RETURN(const node::v1::MemoryStatus memory, node.Memory());
    if (!memory.enabled() || (memory.waiting() == 0 && memory.lessons() >= kCorrections.size())) {
      return absl::OkStatus();
    }
    std::this_thread::sleep_for(kAskEvery);
  }
  return Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
               "the node has not read {} corrections within a minute; run it on an idle machine",
               kCorrections.size());
}

absl::Status CorrectAll(const Taught& taught) {
  for (size_t i = 0; i < kCorrections.size(); ++i) {
    ASSIGN_OR_RETURN(
        const inference::v1::Finished finished,
        Complete(taught, i, kCorrections[i].prompt, inference::v1::DECODING_MODE_BLOCK, nullptr));
    learning::v1::SubmitFeedbackRequest feedback;
    feedback.set_response_id(finished.response_id());
    feedback.set_edited_text(kCorrections[i].text);
    RETURN_IF_ERROR(taught.node->Teach(feedback).status());
  }
  return WaitForMemory(*taught.node);
}

double Recall(const std::vector<std::string>& texts) {
  size_t found = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    found += texts[i].find(kCorrections[i].phrase) != std::string::npos ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(texts.size());
}

// Returns the share of completions that are the correction, word by word, and end with it.
double Exact(const std::vector<std::string>& texts) {
  size_t found = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    found += texts[i] == kCorrections[i].text ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(texts.size());
}

// Returns the share of texts about other things that have the words of a correction.
double Intrusion(const std::vector<std::string>& texts) {
  const auto has = [](const std::string& text) {
    return std::ranges::any_of(kCorrections, [&](const Correction& correction) {
      return text.find(correction.phrase) != std::string::npos;
    });
  };
  return static_cast<double>(std::ranges::count_if(texts, has)) / static_cast<double>(texts.size());
}

nlohmann::json Measure(const inference::Tokenizer& tokenizer, const Texts& texts) {
  double distinct = 0;
  double loops = 0;
  double length = 0;
  const auto count = static_cast<double>(texts.other.size());
  for (const std::string& text : texts.other) {
    const std::vector<inference::TokenId> tokens = tokenizer.EncodeContinuation(text);
    distinct += Distinct(tokens, 2) / count;
    loops += Loops(tokens) ? 1 / count : 0;
    length += static_cast<double>(tokens.size()) / count;
  }
  return {{"exact", Exact(texts.same)},
          {"recall_same", Recall(texts.same)},
          {"recall_paraphrased", Recall(texts.paraphrased)},
          {"intrusion", Intrusion(texts.other)},
          {"loops", loops},
          {"tokens", length},
          {"distinct_2", distinct}};
}

void Print(std::string_view mode, std::string_view when, const nlohmann::json& row) {
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.1f} |\n", mode,
             when, row["exact"].get<double>(), row["recall_same"].get<double>(),
             row["recall_paraphrased"].get<double>(), row["intrusion"].get<double>(),
             row["loops"].get<double>(), row["distinct_2"].get<double>(),
             row["tokens"].get<double>());
}

// Returns a text as a cell of a table in Markdown.
std::string CellOf(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    cell += c == '|' || c == '<' || c == '`' || c == '*' ? "\\" : "";
    cell += c == '\n' || c == '\r' ? ' ' : c;
  }
  return cell;
}

constexpr char kSamplesHead[] =
    "<!--\n"
    "SPDX-FileCopyrightText: 2026 The RuvDLLM Authors\n"
    "SPDX-License-Identifier: Apache-2.0\n"
    "-->\n\n"
    "# Samples before and after corrections\n\n"
    "What a node says in block mode, with default settings, before and after thirty completions\n"
    "were corrected: the same prompt, and a paraphrase of it. Nothing was picked or redrawn; a\n"
    "completion ends after 24 tokens. Some paraphrases find the words, most do not; the figures "
    "are\n"
    "in `bench/results/corrections-recalled.json`.\n\n"
    "Made by `build/release/bench/experiments/recall_corrections --model MODEL --samples FILE` "
    "with\n"
    "`deploy/models/ruvdllm-29m.q8_0.gguf`.\n";

absl::Status WriteSamples(const std::string& path, const Texts& before, const Texts& after) {
  std::ofstream file(path);
  file << kSamplesHead << "\n| prompt | correction | before | after |\n|---|---|---|---|\n";
  for (size_t i = 0; i < kCorrections.size(); ++i) {
    const Correction& correction = kCorrections[i];
    file << fmt::format("| {} | {} | {} | {} |\n", correction.prompt, correction.text,
                        CellOf(before.same[i]), CellOf(after.same[i]));
    file << fmt::format("| {} | | {} | {} |\n", correction.paraphrase,
                        CellOf(before.paraphrased[i]), CellOf(after.paraphrased[i]));
  }
  file.flush();
  return file.good() ? absl::OkStatus()
                     : Error(absl::StatusCode::kUnavailable, reasons::kFileUnwritable,
                             "cannot write {}; give a file in a folder that exists", path);
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  ASSIGN_OR_RETURN(const config::NodeConfig config,
                   ConfigOf(arguments.model, arguments.threads, arguments.settings));
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ASSIGN_OR_RETURN(const std::unique_ptr<ServedNode> node, ServedNode::Start(config, {}));
  const Taught taught{.node = node.get(), .apart = arguments.apart};
  std::map<std::string, Texts> before;
  for (const auto& [name, mode] : kModes) {
    ASSIGN_OR_RETURN(before[name], CompleteAll(taught, mode));
  }
  RETURN_IF_ERROR(CorrectAll(taught));
  nlohmann::json out = {{"experiment", "recall_corrections"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"settings", arguments.settings},
                        {"apart", arguments.apart}};
  fmt::print(
      "| mode | when | exactly, same prompt | recall, same prompt | recall, paraphrase | words in "
      "other texts | loops | "
      "distinct-2 | tokens |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, mode] : kModes) {
    ASSIGN_OR_RETURN(const Texts after, CompleteAll(taught, mode));
    out[name]["before"] = Measure(model->tokenizer(), before[name]);
    out[name]["after"] = Measure(model->tokenizer(), after);
    Print(name, "before", out[name]["before"]);
    Print(name, "after", out[name]["after"]);
    if (mode == inference::v1::DECODING_MODE_BLOCK && !arguments.samples.empty()) {
      RETURN_IF_ERROR(WriteSamples(arguments.samples, before[name], after));
    }
  }
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  app.add_option("--model", arguments.model, "GGUF file")->required();
  app.add_option("--set", arguments.settings, "a setting of the node, KEY=VALUE");
  app.add_flag("--apart", arguments.apart, "each correction is of a user of its own");
  app.add_option("--samples", arguments.samples, "Markdown file for the completions in block mode");
  app.add_option("--out", arguments.out, "file of the results, JSON");
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 64));
  return ruvd::bench::RunExperiment(app, argc, argv, [&] { return ruvd::bench::Run(arguments); });
}
