// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>

#include "base/status.h"
#include "node/api_limits.h"
#include "node/cli/adapter_flags.h"
#include "node/cli/constraint_flags.h"
#include "node/cli/decoding_mode.h"
#include "node/cli/denoise_view.h"
#include "node/cli/last_response.h"
#include "node/cli/limits.h"
#include "node/cli/prompt_syntax.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

constexpr uint32_t kDefaultTokens = 64;  // that a node generates unless it is told otherwise

struct RunFlags {
  std::string prompt;
  std::string suffix;
  std::string mode = "auto";
  std::string session;
  std::optional<bool> session_memory;
  std::string user;
  // The flags write this. Fields without a flag stay unset, so that the server uses its defaults.
  inference::v1::SamplingOptions sampling;
  std::vector<std::string> stop;
  std::string system;
  std::vector<std::string> messages;
  std::string chat_template;
  bool chat = false;
  bool infill = false;
  ConstraintFlags constraint;
  AdapterFlags adapters;
  bool quiet = false;
  uint32_t timeout_seconds = 300;

  bool chats() const {
    return chat || !system.empty() || !messages.empty() || !chat_template.empty();
  }
};

// Adds a conversation whose last message is the prompt.
absl::Status AddConversation(const RunFlags& flags, const std::string& prompt,
                             inference::v1::GenerateRequest* request) {
  if (!flags.system.empty()) {
    RETURN_IF_ERROR(ReadMessage("system=" + flags.system, request));
  }
  for (const std::string& message : flags.messages) {
    RETURN_IF_ERROR(ReadMessage(message, request));
  }
  RETURN_IF_ERROR(ReadMessage("user=" + prompt, request));
  request->mutable_chat()->set_format(flags.chat_template);
  return absl::OkStatus();
}

// Adds a gap between the prompt and the suffix.
void AddSuffix(const RunFlags& flags, std::string prompt, inference::v1::GenerateRequest* request) {
  inference::v1::Infill& infill = *request->mutable_infill();
  if (!prompt.empty()) {
    infill.add_parts()->set_text(std::move(prompt));
  }
  infill.add_parts()->set_gap(flags.sampling.has_max_tokens() ? flags.sampling.max_tokens()
                                                              : kDefaultTokens);
  infill.add_parts()->set_text(flags.suffix);
}

absl::StatusOr<inference::v1::GenerateRequest> MakeRequest(const RunFlags& flags,
                                                           std::string prompt) {
  inference::v1::GenerateRequest request;
  if (flags.chats()) {
    RETURN_IF_ERROR(AddConversation(flags, prompt, &request));
  } else if (flags.infill) {
    RETURN_IF_ERROR(ReadGaps(prompt, &request));
  } else if (!flags.suffix.empty()) {
    AddSuffix(flags, std::move(prompt), &request);
  } else {
    request.set_prompt(std::move(prompt));
  }
  request.set_session_id(flags.session);
  if (flags.session_memory.has_value()) {
    request.set_session_memory(*flags.session_memory);
  }
  request.set_user_id(flags.user);
  RETURN_IF_ERROR(ReadAdapterFlags(flags.adapters, request.mutable_adapters()));
  RETURN_IF_ERROR(ReadConstraintFlags(flags.constraint, &request));
  *request.mutable_sampling() = flags.sampling;
  if (!flags.suffix.empty()) {
    request.mutable_sampling()->clear_max_tokens();  // the gap says it
  }
  request.mutable_sampling()->set_mode(DecodingModeByName(flags.mode));
  request.mutable_sampling()->mutable_stop()->Add(flags.stop.begin(), flags.stop.end());
  return request;
}

// Returns the prompt itself, or all of standard input if it is "-".
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
          fmt::format("standard input is longer than {} bytes, the limit of a request; shorten it",
                      limits::kMaxPromptBytes));
    }
  }
  return text;
}

void PrintJson(CommandContext& context, const DenoiseView& view) {
  report::v1::RunReport report;
  report.set_text(view.text());
  report.set_prompt_tokens(view.started().prompt_tokens());
  *report.mutable_finished() = view.finished();
  context.out << ToJsonLine(report);
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
  ASSIGN_OR_RETURN(inference::v1::GenerateRequest request, MakeRequest(flags, std::move(prompt)));
  request.set_stream_frames(live);
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(std::chrono::seconds(flags.timeout_seconds));
  const absl::Status status =
      client.Generate(request, [&](const auto& event) { view.OnEvent(event); });
  if (status.ok() || !view.text().empty()) {
    view.Close();
  }
  RETURN_IF_ERROR(status);
  const std::string& id = view.finished().response_id();
  const absl::Status remembered = StoreLastResponse(context, id);
  if (context.json) {
    PrintJson(context, view);
  } else if (!flags.quiet) {
    // A sampler may choose positions at random although tokens are greedy.
    const bool drawn = !flags.sampling.has_seed() &&
                       (flags.sampling.temperature() > 0 || !flags.sampling.sampler().empty() ||
                        flags.sampling.position_temperature() > 0);
    context.err << GenerationFooter(view.finished())
                << (drawn ? fmt::format(" · seed {}", view.finished().seed()) : "") << "\n"
                << fmt::format("teach it: ruvd rate {} good, or --fix \"better text\"\n",
                               remembered.ok() ? "last" : id);
  }
  return absl::OkStatus();
}

using Sampling = inference::v1::SamplingOptions;

template <typename Value>
void AddFlag(Verb verb, RunFlags& flags, const char* name, void (Sampling::*set)(Value),
             const char* help) {
  verb.OptionFunction<Value>(
      name, [&flags, set](const Value& value) { (flags.sampling.*set)(value); }, help);
}

void AddTokenFlags(Verb verb, RunFlags& flags) {
  AddFlag(verb, flags, "--max-tokens", &Sampling::set_max_tokens, "Most new tokens; default 64");
  AddFlag(verb, flags, "--temperature", &Sampling::set_temperature,
          "Sampling temperature; 0 is greedy");
  AddFlag(verb, flags, "--top-k", &Sampling::set_top_k,
          "Sample from the k most likely tokens; 0 is off");
  AddFlag(verb, flags, "--top-p", &Sampling::set_top_p,
          "Sample from the smallest set of tokens with this probability mass; 0 is off");
  AddFlag(verb, flags, "--min-p", &Sampling::set_min_p,
          "Sample from tokens with at least this share of the highest probability; 0 is off");
  AddFlag(verb, flags, "--repetition-penalty", &Sampling::set_repetition_penalty,
          "Divide positive logits (multiply negative ones) of tokens in the window; 1 is off");
  AddFlag(verb, flags, "--presence-penalty", &Sampling::set_presence_penalty,
          "Subtract this from the logit of a token in the window, once; 0 is off");
  AddFlag(verb, flags, "--frequency-penalty", &Sampling::set_frequency_penalty,
          "Subtract this from the logit of a token for each time it is in the window; 0 is off");
  AddFlag(verb, flags, "--penalty-window", &Sampling::set_penalty_window,
          "Positions on either side that penalties look at; default: all");
  AddFlag(verb, flags, "--no-repeat-ngram", &Sampling::set_no_repeat_ngram,
          "Never repeat a sequence of this many tokens; 0 is off");
  AddFlag(verb, flags, "--logprobs", &Sampling::set_logprobs,
          "With --format json: add log-probabilities, and those of this many most likely tokens");
  AddFlag(verb, flags, "--seed", &Sampling::set_seed,
          "Random seed; equal seeds give equal text; default: the node draws one");
  verb.Option("--stop", flags.stop, "Stop before this text; may be repeated").OneValueEach();
  verb.SwitchFunction(
      "--ignore-end", [&flags](bool on) { flags.sampling.set_ignore_end_of_text(on); },
      "Continue after an end-of-text token");
}

void AddPositionFlags(Verb verb, RunFlags& flags) {
  verb.OptionFunction<std::string>(
          "--sampler", [&flags](const std::string& name) { flags.sampling.set_sampler(name); },
          "Sampler that decides which positions a step commits")
      .ValueName(limits::kSamplerNames);
  AddFlag(verb, flags, "--steps", &Sampling::set_steps,
          "Denoising steps (per block in block mode); default: one for each token");
  AddFlag(verb, flags, "--block-length", &Sampling::set_block_length,
          "Tokens per block; default: the model's block length");
  AddFlag(
      verb, flags, "--confidence", &Sampling::set_confidence_threshold,
      "Samplers threshold, klass: commit all positions with at least this confidence in one step");
  AddFlag(verb, flags, "--position-temperature", &Sampling::set_position_temperature,
          "Draw positions at random by score with this temperature; 0 takes the best");
  AddFlag(verb, flags, "--entropy-bound", &Sampling::set_entropy_bound,
          "Sampler entropy_bounded: bound in nats; default 0.1");
  AddFlag(verb, flags, "--factor", &Sampling::set_factor, "Sampler factor: its factor; default 1");
  AddFlag(verb, flags, "--stability-kl", &Sampling::set_stability_kl,
          "Sampler klass: nats by which a prediction may move in a step; default 0.01");
  AddFlag(verb, flags, "--stability-steps", &Sampling::set_stability_steps,
          "Sampler klass: steps for which a prediction must be stable; default 2");
  verb.OptionFunction<std::string>(
          "--remask", [&flags](const std::string& name) { flags.sampling.set_remask(name); },
          "Sampler remdm: cap, rescale or confidence")
      .ValueName(limits::kRemaskNames);
  AddFlag(verb, flags, "--remask-strength", &Sampling::set_remask_strength,
          "Sampler remdm: strength of remasking; default 0.05");
  AddFlag(verb, flags, "--guidance", &Sampling::set_guidance_scale,
          "Scale of classifier-free guidance; 0 is off");
  AddFlag(verb, flags, "--approximate-cache", &Sampling::set_approximate_cache_steps,
          "Diffusion mode: in most steps evaluate only the active block; evaluate the whole text "
          "every this many steps; faster, but the text differs; 0 is off");
}

// Returns the flags for text that must fit into a gap, which a chat does not have.
std::vector<Flag> AddSamplingFlags(Verb verb, RunFlags& flags) {
  AddDecodingModeFlag(verb, flags.mode);
  AddTokenFlags(verb, flags);
  AddPositionFlags(verb, flags);
  const Flag suffix = verb.Option("--suffix", flags.suffix,
                                  "Text after the completion, which the completion must fit");
  const Flag infill = verb.Switch("--infill", flags.infill,
                                  "Fill the gaps that the prompt marks as [[n]], n tokens each")
                          .Excludes(suffix);
  return {suffix, infill};
}

void AddChatFlags(Verb verb, RunFlags& flags, const std::vector<Flag>& gaps) {
  const std::vector<Flag> chat = {
      verb.Switch("--chat", flags.chat,
                  "Treat the prompt as a chat message to answer, in the model's chat template"),
      verb.Option("--system", flags.system, "System message (implies --chat)"),
      verb.Option("--message", flags.messages,
                  "Earlier message ROLE=TEXT (implies --chat); may be repeated")
          .OneValueEach(),
      verb.Option("--chat-template", flags.chat_template,
                  "Chat template to use instead of the model's own (implies --chat)")
          .ValueName(limits::kChatFormatNames)};
  for (Flag flag : chat) {
    for (const Flag& gap : gaps) {
      flag.Excludes(gap);
    }
  }
}

}  // namespace

void AddRunVerb(VerbTable& verbs) {
  auto flags = std::make_shared<RunFlags>();
  Verb verb = verbs.Add("run", "Use a node", "Complete a prompt; a terminal shows the denoising",
                        [flags](CommandContext& context) { return RunPrompt(context, *flags); });
  verb.Option("prompt", flags->prompt,
              "Text to continue, or message to answer; - reads standard input")
      .Required();
  AddChatFlags(verb, *flags, AddSamplingFlags(verb, *flags));
  AddConstraintFlags(verb, flags->constraint);
  AddAdapterFlags(verb, flags->adapters);
  verb.Option("--session", flags->session,
              "Session id, which groups the requests of one conversation");
  // Without the flag the node's configuration decides.
  verb.SwitchFunction(
      "--session-memory,!--no-session-memory", [flags](bool on) { flags->session_memory = on; },
      "Whether feedback on this session changes its completions at once; default: "
      "experimental.session_memory of the node");
  verb.Option("--user", flags->user,
              "User id; the request is stored under a key of this user's own, which `ruvd "
              "store erase` destroys");
  verb.Switch("--quiet", flags->quiet, "Print no footer");
  verb.Option("--timeout", flags->timeout_seconds, "Seconds to wait for the completion")
      .ShowDefault();
}

}  // namespace ruvd::cli
