// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "inference/constrain/token_trie.h"
#include "inference/memory/memory_reader.h"
#include "inference/prefix/prefix_tree.h"
#include "inference/retrieval/whitening.h"
#include "node/serving/adapter_source.h"
#include "node/serving/erasure_fence.h"
#include "node/serving/request_trace.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::serving {

class RequestExtensionFactory;

// What all generations share. Everything is borrowed and must outlive every task.
struct GenerationServices {
  const Clock* clock = nullptr;
  AdapterSource* adapters = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  ErasureFence* fence = nullptr;
  const inference::Whitening* whitening = nullptr;  // null: embeddings are not whitened
  Digest package_id{};                              // the package that computes embeddings
  std::string model_name = {};                      // the model that serves
  std::shared_ptr<inference::PrefixTree> prefixes;  // null: completions share no prefixes
  // The sampler of completions in the masked modes that ask for none; nullopt: the engine's choice.
  std::optional<inference::SamplerKind> sampler = std::nullopt;
  // The texts of the model's tokens, for completions that are held to a grammar.
  std::shared_ptr<const inference::TokenTrie> token_trie;
  int max_tokens_limit = 0;  // new tokens per completion; 0: as many as fit the context
  RequestRecorder* recorder = &DroppingRecorder();
  // Returns what reads the lessons that a user may see, masked or from left to right; null if the
  // user sees no lesson. Null: no lesson is remembered.
  std::function<std::unique_ptr<inference::MemoryReader>(std::string_view user_id, bool causal)>
      memory_of = nullptr;
  // Whether the words of a completion, too, choose adapters (WordGuidance), as a score then
  // assumes; otherwise those of the prompt do alone.
  bool written_words_choose = true;
  // Called when a completion was stored. Must not block.
  std::function<void(const std::string& user_id, const std::string& response_id)> on_stored =
      [](const std::string&, const std::string&) {};
  // Called with the request's user once the request is admitted, so that the user's key is made
  // while it runs. Must not block.
  std::function<void(const std::string& user_id)> prepare_user_key = [](const std::string&) {};
  // Returns the share of the queue in use, in [0, 1].
  std::function<float()> queue_share = [] { return 0.0F; };
  // What else takes part in requests, in the order in which each moment reaches them.
  std::vector<RequestExtensionFactory*> extensions = {};
};

}  // namespace ruvd::serving
