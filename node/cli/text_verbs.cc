// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/status.h"
#include "node/cli/adapter_flags.h"
#include "node/cli/decoding_mode.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::cli {
namespace {

constexpr char kTextGroup[] = "Use a node";

absl::Status Embed(CommandContext& context, const std::string& text) {
  client::NodeClient client(context.server, context.credentials);
  inference::v1::EmbedRequest request;
  request.add_texts(text);
  ASSIGN_OR_RETURN(const auto response, client.Call<inference::v1::EmbedResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  for (const inference::v1::TextEmbedding& embedding : response.embeddings()) {
    context.out << fmt::format("{} tokens, {} dimensions\n", embedding.tokens(),
                               embedding.values_size());
    for (const float value : embedding.values()) {
      context.out << fmt::format("{:.6f}\n", value);
    }
  }
  return absl::OkStatus();
}

absl::Status Tokenize(CommandContext& context, const inference::v1::TokenizeRequest& request) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<inference::v1::TokenizeResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(static_cast<size_t>(response.tokens_size()));
  for (int i = 0; i < response.tokens_size(); ++i) {
    const std::string piece = i < response.pieces_size() ? response.pieces(i) : "";
    rows.push_back({fmt::format("{}", i), fmt::format("{}", response.tokens(i)),
                    fmt::format("\"{}\"", piece)});
  }
  context.out << FormatTable({"POSITION", "TOKEN", "PIECE"}, rows);
  return absl::OkStatus();
}

absl::Status Score(CommandContext& context, const inference::v1::ScoreRequest& request) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<inference::v1::ScoreResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  context.out << fmt::format("{:.4f} nats/token over {} tokens, {} adapters\n",
                             response.nats_per_token(), response.tokens(),
                             response.adapters_used_size());
  return absl::OkStatus();
}

void AddScore(VerbTable& verbs) {
  struct Flags {
    std::string prompt, completion, mode;
    std::optional<uint32_t> samples;
    uint64_t seed = 0;
    AdapterFlags adapters;
  };
  auto flags = std::make_shared<Flags>();
  Verb verb =
      verbs.Add("score", kTextGroup, "Loss of a completion after a prompt, without generating",
                [flags](CommandContext& context) {
                  inference::v1::ScoreRequest score;
                  score.set_prompt(flags->prompt);
                  score.set_completion(flags->completion);
                  score.set_mode(DecodingModeByName(flags->mode));
                  if (flags->samples) {
                    score.set_samples(*flags->samples);
                  }
                  score.set_seed(flags->seed);
                  RETURN_IF_ERROR(ReadAdapterFlags(flags->adapters, score.mutable_adapters()));
                  return Score(context, score);
                });
  verb.Option("prompt", flags->prompt, "Text before the completion").Required();
  verb.Option("completion", flags->completion, "Text to score").Required();
  AddDecodingModeFlag(verb, flags->mode);
  verb.Option("--samples", flags->samples, "Number of mask draws to average; default 32");
  verb.Option("--seed", flags->seed, "Seed of the masks; equal seeds give equal masks");
  AddAdapterFlags(verb, flags->adapters);
}

}  // namespace

void AddTextVerbs(VerbTable& verbs) {
  auto text = std::make_shared<std::string>();
  Verb embed =
      verbs.Add("embed", kTextGroup, "Show the embedding of a text, by which patterns are searched",
                [text](CommandContext& context) { return Embed(context, *text); });
  embed.Option("text", *text, "Text to embed").Required();

  struct TokenizeFlags {
    std::string text;
    bool special = false;
  };
  auto flags = std::make_shared<TokenizeFlags>();
  Verb tokenize = verbs.Add("tokenize", kTextGroup, "Split a text into tokens",
                            [flags](CommandContext& context) {
                              inference::v1::TokenizeRequest request;
                              request.set_text(flags->text);
                              request.set_parse_special(flags->special);
                              return Tokenize(context, request);
                            });
  tokenize.Option("text", flags->text, "Text to split").Required();
  tokenize.Switch("--special", flags->special, "Read <|...|> pieces as special tokens");

  AddScore(verbs);
}

}  // namespace ruvd::cli
