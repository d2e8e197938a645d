// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/status.h"
#include "node/cli/client.h"
#include "node/cli/command.h"
#include "node/cli/decoding_mode.h"
#include "node/cli/denoise_view.h"
#include "node/cli/last_response.h"
#include "node/cli/limits.h"
#include "node/cli/output.h"
#include "node/cli/verbs.h"

namespace ruvd {
namespace {

struct RunFlags {
  std::string prompt;
  std::string mode = "auto";
  std::string session;
  uint32_t max_tokens = 64;
  uint32_t steps = 0;
  uint32_t block_length = 0;
  uint32_t top_k = 0;
  uint64_t seed = 0;
  float temperature = 0;
  float confidence = 0;
  float top_p = 0;
  std::optional<float> repetition_penalty;  // not set: the server's own
  std::vector<std::string> stop;
  bool ignore_end = false;
  bool no_adapters = false;
  bool quiet = false;
  uint32_t timeout_seconds = 300;
};

inference::v1::GenerateRequest MakeRequest(const RunFlags& flags, std::string prompt) {
  inference::v1::GenerateRequest request;
  request.set_prompt(std::move(prompt));
  request.set_session_id(flags.session);
  request.mutable_adapters()->set_disabled(flags.no_adapters);
  inference::v1::SamplingOptions& sampling = *request.mutable_sampling();
  sampling.set_mode(DecodingModeByName(flags.mode));
  sampling.set_max_tokens(flags.max_tokens);
  sampling.set_steps(flags.steps);
  sampling.set_block_length(flags.block_length);
  sampling.set_temperature(flags.temperature);
  sampling.set_confidence_threshold(flags.confidence);
  sampling.set_seed(flags.seed);
  sampling.set_ignore_end_of_text(flags.ignore_end);
  sampling.mutable_stop()->Add(flags.stop.begin(), flags.stop.end());
  sampling.set_top_k(flags.top_k);
  sampling.set_top_p(flags.top_p);
  if (flags.repetition_penalty) {
    sampling.set_repetition_penalty(*flags.repetition_penalty);
  }
  return request;
}

// The prompt itself, or all of standard input for "-".
absl::StatusOr<std::string> ReadPrompt(const std::string& prompt) {
  if (prompt != "-") {
    return prompt;
  }
  std::string text;
  char c = 0;
  while (std::cin.get(c)) {
    text.push_back(c);
    if (text.size() > limits::kMaxPromptBytes) {
      return UsageError(
          fmt::format("standard input is longer than the {} bytes of a request; "
                      "shorten it",
                      limits::kMaxPromptBytes));
    }
  }
  return text;
}

void PrintJson(CommandContext& context, const DenoiseView& view) {
  nlohmann::json json = nlohmann::json::parse(ToJsonLine(view.finished()));
  json["text"] = view.text();
  json["prompt_tokens"] = view.started().prompt_tokens();
  context.out << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

absl::Status RunPrompt(CommandContext& context, const RunFlags& flags) {
  ASSIGN_OR_RETURN(std::string prompt, ReadPrompt(flags.prompt));
  const bool live = context.out_is_terminal && !context.json &&
                    context.Variable("NO_COLOR").empty() && context.Variable("TERM") != "dumb";
  std::ostream muted(nullptr);
  DenoiseView view(context.json ? muted : context.out,
                   {.live = live,
                    .columns = static_cast<size_t>(context.columns),
                    .rows = static_cast<size_t>(context.rows)});
  inference::v1::GenerateRequest request = MakeRequest(flags, std::move(prompt));
  request.set_stream_frames(live);
  NodeClient client(context.server);
  client.set_timeout(std::chrono::seconds(flags.timeout_seconds));
  const absl::Status status =
      client.Generate(request, [&](const auto& event) { view.OnEvent(event); });
  if (status.ok() || !view.text().empty()) {
    view.Close();
  }
  RETURN_IF_ERROR(status);
  const std::string& id = view.finished().response_id();
  const absl::Status remembered = RememberResponse(context, id);
  if (context.json) {
    PrintJson(context, view);
  } else if (!flags.quiet) {
    context.err << GenerationFooter(view.finished()) << "\n"
                << fmt::format("teach it: ruvd rate {} good, or --fix \"better text\"\n",
                               remembered.ok() ? "last" : id);
  }
  return absl::OkStatus();
}

void AddSamplingFlags(CLI::App& verb, RunFlags& flags) {
  AddDecodingModeFlag(verb, flags.mode);
  verb.add_option("--max-tokens", flags.max_tokens, "New tokens at most")->capture_default_str();
  verb.add_option("--steps", flags.steps, "Denoising steps (of a block); 0 is one token a step");
  verb.add_option("--block-length", flags.block_length, "Tokens of a block; 0 is the model's own");
  verb.add_option("--temperature", flags.temperature, "0 is greedy");
  verb.add_option("--confidence", flags.confidence,
                  "Commit all positions this sure in one step; 0 is off");
  verb.add_option("--seed", flags.seed, "Equal seeds give equal text");
  verb.add_option("--stop", flags.stop, "End before this text; may be repeated")
      ->allow_extra_args(false);
  verb.add_option("--top-k", flags.top_k, "Autoregressive: the k likeliest tokens; 0 is off");
  verb.add_option("--top-p", flags.top_p, "Autoregressive: the smallest mass; 0 is off");
  verb.add_option("--repetition-penalty", flags.repetition_penalty, "1 is off");
  verb.add_flag("--ignore-end", flags.ignore_end, "Keep on after the end of the text");
}

}  // namespace

void AddRunVerb(VerbTable& verbs) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App& verb =
      verbs.Add("run", "Use a node", "Complete a prompt, denoising visibly in a terminal",
                [flags](CommandContext& context) { return RunPrompt(context, *flags); });
  verb.add_option("prompt", flags->prompt, "Text to go on from; - reads standard input")
      ->required();
  AddSamplingFlags(verb, *flags);
  verb.add_flag("--no-adapters", flags->no_adapters, "The base model alone");
  verb.add_option("--session", flags->session, "Groups the requests of one conversation");
  verb.add_flag("--quiet", flags->quiet, "No footer");
  verb.add_option("--timeout", flags->timeout_seconds, "Seconds to wait")->capture_default_str();
}

}  // namespace ruvd
