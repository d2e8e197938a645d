// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/config/keys.h"

#include <array>
#include <cctype>

#include "inference/adapter/limits.h"
#include "storage/limits.h"

namespace ruvd::config {
namespace {

constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error"};
constexpr std::string_view kPrecisions[] = {"fast", "exact"};
constexpr std::string_view kKvFormats[] = {"f16", "q8", "f32"};
constexpr std::string_view kSamplers[] = {
    "auto",     "ancestral", "low_confidence", "margin",          "entropy", "random",
    "position", "threshold", "factor",         "entropy_bounded", "klass",   "remdm"};
constexpr std::string_view kDgrStrategies[] = {"off", "entropy", "confidence_gap", "hybrid",
                                               "adaptive"};
constexpr std::string_view kDeepScopes[] = {"related", "all"};
constexpr std::string_view kDeepGuards[] = {"replay", "replay_kl", "ewc", "replay_ewc",
                                            "replay_kl_ewc"};
constexpr std::string_view kRouters[] = {"off", "logistic", "fastgrnn", "cascade"};
constexpr std::string_view kSealKeys[] = {"file", "passphrase", "credential"};
constexpr std::string_view kLinkTls[] = {"required", "off"};
constexpr std::string_view kStrategies[] = {"timestep", "quality", "schedule", "hybrid"};
constexpr std::string_view kCommits[] = {"harmless", "gain"};
constexpr std::string_view kFormats[] = {"auto", "text", "json"};

// More cores than any machine this is built for, more waiting work than any client waits for: such
// numbers are slips of the pen.
constexpr double kMaxThreads = 1024;
constexpr double kMaxQueue = 65'536;
constexpr double kMaxTokens = 1 << 20;
constexpr double kMaxDgrQueries = 64;
constexpr double kMaxRouterValue = 1'000'000;
constexpr double kMaxRank = 256;
constexpr double kMaxLayers = 1024;
constexpr double kMaxSeconds = 7 * 24 * 3600;
constexpr double kMaxCentroidSeconds = 366 * 86'400;
// What members say in two rounds has to live, which it does for three hours.
constexpr double kMaxMaskedSeconds = 5400;
constexpr double kMaxDays = 3650;
constexpr double kMaxEntries = 100'000'000;
constexpr double kMaxBytes = 1ULL << 50;

#define RUVD_FIELD(type, member) [](NodeConfig& config) -> type& { return config.member; }

const std::array kKeys = {
    ConfigKey{"node", "name", "What people call this node; shown in lists and logs.",
              RUVD_FIELD(std::string, node.name)},
    ConfigKey{"node", "data_dir", "Folder of keys and store; created with mode 0700. Required.",
              RUVD_FIELD(std::string, node.data_dir)},

    ConfigKey{"api", "listen", "HOST:PORT of the gRPC services for clients; port 0 picks one.",
              RUVD_FIELD(std::string, api.listen), 0, 0, TextRule::kAddress},
    ConfigKey{"api", "tls_cert", "PEM file of the server's certificate; empty is no encryption.",
              RUVD_FIELD(std::string, api.tls_cert)},
    ConfigKey{"api", "tls_key",
              "PEM file of its key, of mode 0600; both are read when they change.",
              RUVD_FIELD(std::string, api.tls_key)},
    ConfigKey{
        "api", "token_file",
        "File of mode 0600 with a line ROLE[,ROLE] TOKEN for each client; roles are observer, "
        "contributor and admin. Empty asks for no token.",
        RUVD_FIELD(std::string, api.token_file)},
    ConfigKey{
        "api", "allow_remote",
        "Let `listen` be other than loopback without TLS and tokens: whoever reaches it may do "
        "everything.",
        RUVD_FIELD(bool, api.allow_remote)},

    ConfigKey{"model", "path", "GGUF file of the model. Required.",
              RUVD_FIELD(std::string, model.path)},

    ConfigKey{"inference", "sampler", "Which positions a denoising step commits, if not asked for.",
              RUVD_FIELD(std::string, inference.sampler), 0, 0, TextRule::kOneOf, kSamplers},
    ConfigKey{"inference", "threads", "Compute threads; 0 is one per core, less one.",
              RUVD_FIELD(int, inference.threads), 0, kMaxThreads},
    ConfigKey{"inference", "queue", "Requests that may wait; more are refused.",
              RUVD_FIELD(int, inference.queue), 1, kMaxQueue},
    ConfigKey{"inference", "max_tokens_limit", "New tokens of one request; 0 is what fits.",
              RUVD_FIELD(int, inference.max_tokens_limit), 0, kMaxTokens},
    ConfigKey{"inference", "precision",
              "Of completions: fast (activations rounded to 8 bits) or exact (float32).",
              RUVD_FIELD(std::string, inference.precision), 0, 0, TextRule::kOneOf, kPrecisions},
    ConfigKey{"inference", "kv_bytes", "Memory of all keys and values; shared prefixes give way.",
              RUVD_FIELD(uint64_t, inference.kv_bytes), 1 << 20, kMaxBytes},
    ConfigKey{"inference", "kv_format", "Their format: f16, q8 (half the memory) or f32.",
              RUVD_FIELD(std::string, inference.kv_format), 0, 0, TextRule::kOneOf, kKvFormats},
    ConfigKey{"inference", "adapters", "LoRA files, FILE or FILE=WEIGHT of requests that ask none.",
              RUVD_FIELD(std::vector<std::string>, inference.adapters)},
    ConfigKey{"inference", "adapter_bytes", "Memory of adapters; those used least are read again.",
              RUVD_FIELD(uint64_t, inference.adapter_bytes), 1 << 20, kMaxBytes},
    ConfigKey{"inference", "router",
              "What learns to choose steps, cache and adapters of requests that leave them open.",
              RUVD_FIELD(std::string, inference.router), 0, 0, TextRule::kOneOf, kRouters},
    ConfigKey{"inference", "router_exploration", "Share of requests that it serves at random.",
              RUVD_FIELD(float, inference.router_exploration), 0, 1},
    ConfigKey{"inference", "router_value",
              "What it takes a good completion to be worth, in costs of one as it is asked for.",
              RUVD_FIELD(float, inference.router_value), 0, kMaxRouterValue},

    ConfigKey{"retrieval", "similarity",
              "Cosine at which a pattern's adapter applies; 0 is what suits the model.",
              RUVD_FIELD(float, retrieval.similarity), -1, 1},
    ConfigKey{"retrieval", "max_adapters", "Pattern adapters of one request at most.",
              RUVD_FIELD(int, retrieval.max_adapters), 0, 16},
    ConfigKey{"retrieval", "dgr", "When a completion asks for other adapters while it is denoised.",
              RUVD_FIELD(std::string, retrieval.dgr), 0, 0, TextRule::kOneOf, kDgrStrategies},
    ConfigKey{"retrieval", "dgr_queries", "How often it asks, at most.",
              RUVD_FIELD(int, retrieval.dgr_queries), 0, kMaxDgrQueries},
    ConfigKey{"retrieval", "dgr_min_t", "Masked share of the window below which it does not ask.",
              RUVD_FIELD(float, retrieval.dgr_min_t), 0, 1},
    ConfigKey{"retrieval", "graph",
              "Feedback moves what is found for its session by 5 % at most, also after a restart.",
              RUVD_FIELD(bool, retrieval.graph)},

    ConfigKey{"learning", "enabled", "Train on feedback. Sessions remember by `instant`.",
              RUVD_FIELD(bool, learning.enabled)},
    ConfigKey{"learning", "min_rating", "Completions rated at least this are learned from.",
              RUVD_FIELD(float, learning.min_rating), 0, 1},
    ConfigKey{"learning", "rank", "Rank of a pattern's adapter.", RUVD_FIELD(int, learning.rank), 1,
              kMaxRank},
    ConfigKey{"learning", "layers", "It changes all linear matrices of so many of the last layers.",
              RUVD_FIELD(int, learning.layers), 1, kMaxLayers},
    ConfigKey{"learning", "steps", "Optimiser steps of one lesson; 0 is the trainer's default.",
              RUVD_FIELD(int, learning.steps), 0, 100'000},
    ConfigKey{"learning", "background_requests", "Rated completions that start a background round.",
              RUVD_FIELD(int, learning.background_requests), 1, kMaxQueue},
    ConfigKey{"learning", "background_seconds",
              "Or seconds between two looks for any; none waits longer.",
              RUVD_FIELD(int, learning.background_seconds), 1, kMaxSeconds},
    ConfigKey{"learning", "cluster_similarity",
              "Cosine at which a lesson belongs to a pattern; 0 is what suits the model.",
              RUVD_FIELD(float, learning.cluster_similarity), 0, 1},
    ConfigKey{"learning", "merge_similarity",
              "Cosine at which two patterns of this node become one; 0 is what suits the model.",
              RUVD_FIELD(float, learning.merge_similarity), 0, 2},
    ConfigKey{"learning", "quality_decay",
              "What a pattern's quality keeps of itself with each new lesson.",
              RUVD_FIELD(float, learning.quality_decay), 0, 1},
    ConfigKey{"learning", "min_improvement",
              "Held-out nats per token an adapter must gain to be kept.",
              RUVD_FIELD(float, learning.min_improvement), 0, 100},
    ConfigKey{"learning", "slow_down",
              "Share by which learning may slow the slowest hundredth of denoising steps down.",
              RUVD_FIELD(float, learning.slow_down), 0, 100},
    ConfigKey{"learning", "memory_bytes", "Memory of training and of what sessions were taught.",
              RUVD_FIELD(uint64_t, learning.memory_bytes), 1 << 20, kMaxBytes},
    ConfigKey{"learning", "deep_hours", "Hours between two deep rounds; 0 is on demand only.",
              RUVD_FIELD(int, learning.deep_hours), 0, kMaxDays * 24},
    ConfigKey{"learning", "deep_rank", "Rank of the adapter that a deep round trains.",
              RUVD_FIELD(int, learning.deep_rank), 1, kMaxRank},
    ConfigKey{
        "learning", "deep_steps",
        "Optimiser steps of a deep round at most; it ends before where lessons that were held "
        "back gain no more.",
        RUVD_FIELD(int, learning.deep_steps), 1, 10'000},
    ConfigKey{"learning", "deep_threads",
              "Compute threads of a deep round, of low priority beside inference.threads.",
              RUVD_FIELD(int, learning.deep_threads), 1, kMaxThreads},
    ConfigKey{"learning", "deep_learning_rate", "Learning rate of a deep round (AdamW).",
              RUVD_FIELD(float, learning.deep_learning_rate), 1e-6, 1},
    ConfigKey{"learning", "deep_scope",
              "Which requests get what deep rounds learned: those with prompts like the lessons' "
              "(related), or all.",
              RUVD_FIELD(std::string, learning.deep_scope), 0, 0, TextRule::kOneOf, kDeepScopes},
    ConfigKey{"learning", "deep_guard",
              "What keeps a deep round from forgetting: general text that follows the bare model "
              "(replay_kl) or, where there is much of it (general_text), is learned beside the "
              "lessons (replay), and EWC++ (ewc).",
              RUVD_FIELD(std::string, learning.deep_guard), 0, 0, TextRule::kOneOf, kDeepGuards},
    ConfigKey{"learning", "deep_ewc_strength", "Strength of the penalty of EWC++.",
              RUVD_FIELD(float, learning.deep_ewc_strength), 0, 1e9},
    ConfigKey{"learning", "deep_banks",
              "Timestep banks with residuals beside the adapter of a deep round; 0 is none.",
              RUVD_FIELD(int, learning.deep_banks), 0, limits::kMaxTimestepBanks},
    ConfigKey{"learning", "deep_bank_rank", "Rank of a bank's residual.",
              RUVD_FIELD(int, learning.deep_bank_rank), 1, kMaxRank},
    ConfigKey{"learning", "deep_bank_rate", "Its share of the learning rate.",
              RUVD_FIELD(float, learning.deep_bank_rate), 1e-3, 10},
    ConfigKey{"learning", "deep_bank_decay", "What it loses of itself with each step.",
              RUVD_FIELD(float, learning.deep_bank_decay), 0, 0.5},
    ConfigKey{"learning", "general_text",
              "File of general text (.txt or .jsonl, .zst too) that deep rounds replay and are "
              "measured on; empty is the built-in text.",
              RUVD_FIELD(std::string, learning.general_text)},
    ConfigKey{"learning", "instant",
              "Sessions remember what feedback taught them, for requests that do not say.",
              RUVD_FIELD(bool, learning.instant)},

    ConfigKey{"federation", "enabled", "Link to peers. Sharing still needs consent.",
              RUVD_FIELD(bool, federation.enabled)},
    ConfigKey{"federation", "listen", "HOST:PORT of the link service for peers.",
              RUVD_FIELD(std::string, federation.listen), 0, 0, TextRule::kAddress},
    ConfigKey{"federation", "advertise", "HOST:PORT that peers dial; empty is `listen`.",
              RUVD_FIELD(std::string, federation.advertise), 0, 0, TextRule::kAddressOrEmpty},
    ConfigKey{"federation", "seeds", "HOST:PORT of nodes to dial at start.",
              RUVD_FIELD(std::vector<std::string>, federation.seeds), 0, 0, TextRule::kAddress},
    ConfigKey{"federation", "certificate", "Admission certificate; empty is DATA_DIR/node.cert.",
              RUVD_FIELD(std::string, federation.certificate)},
    ConfigKey{"federation", "authority", "The cluster authority's public key, 64 hex digits.",
              RUVD_FIELD(std::string, federation.authority), 0, 0, TextRule::kHex64OrEmpty},
    ConfigKey{"federation", "tls",
              "Of links between nodes: required, or off for plain text. Equal on all nodes.",
              RUVD_FIELD(std::string, federation.tls), 0, 0, TextRule::kOneOf, kLinkTls},
    ConfigKey{"federation", "relay",
              "Carry links between peers that cannot dial each other: sealed, at most 8 MiB a "
              "second in all.",
              RUVD_FIELD(bool, federation.relay)},
    ConfigKey{"federation", "max_stale_hours",
              "Age of the newest revocation list above which no new link is taken but from a node "
              "that has a newer one; 0 for an island without its authority.",
              RUVD_FIELD(int, federation.max_stale_hours), 0, kMaxSeconds},
    ConfigKey{"federation", "round_seconds",
              "How often a changed update is offered, and a round that was not finished goes on.",
              RUVD_FIELD(int, federation.round_seconds), 1, kMaxSeconds},
    ConfigKey{"federation", "masked_seconds",
              "Seconds between the beginnings of masked rounds, by the wall clock; equal in the "
              "whole cluster. A round waits for keys for a thirtieth of it.",
              RUVD_FIELD(int, federation.masked_seconds), 10, kMaxMaskedSeconds},
    ConfigKey{"federation", "banks",
              "Timestep banks of the shared R-core; 1 is one for all t. Nodes may have different "
              "ones.",
              RUVD_FIELD(int, federation.banks), 1, limits::kMaxTimestepBanks},
    ConfigKey{
        "federation", "strategy",
        "What weighs the updates of nodes in each bank: how much of it they cover (timestep), "
        "what they gain on lessons held out here (quality), how like their schedules are "
        "(schedule), or all three (hybrid).",
        RUVD_FIELD(std::string, federation.strategy), 0, 0, TextRule::kOneOf, kStrategies},
    ConfigKey{"federation", "timestep_weight", "Share of the first in the strategy hybrid.",
              RUVD_FIELD(float, federation.timestep_weight), 0, 1000},
    ConfigKey{"federation", "quality_weight", "Share of the second.",
              RUVD_FIELD(float, federation.quality_weight), 0, 1000},
    ConfigKey{"federation", "schedule_weight", "Share of the third.",
              RUVD_FIELD(float, federation.schedule_weight), 0, 1000},
    ConfigKey{"federation", "outer_step",
              "Share of the way that a round takes towards what the updates say.",
              RUVD_FIELD(float, federation.outer_step), 1e-3, 1},
    ConfigKey{"federation", "commit",
              "Which banks of a round are kept: those that do no harm to lessons and general text "
              "(harmless), or only those that also gain (gain).",
              RUVD_FIELD(std::string, federation.commit), 0, 0, TextRule::kOneOf, kCommits},
    ConfigKey{"federation", "core_rank", "Rank of the shared R-core.",
              RUVD_FIELD(int, federation.core_rank), 1, kMaxRank},
    ConfigKey{"federation", "frame_seed", "Seed of the random frame; equal in the whole cluster.",
              RUVD_FIELD(uint64_t, federation.frame_seed), 0, static_cast<double>(INT64_MAX)},
    ConfigKey{"federation", "pattern_quality",
              "Quality from 0 to 1 that a peer's pattern claims, at least, to be taken.",
              RUVD_FIELD(float, federation.pattern_quality), 0, 1},

    ConfigKey{"privacy", "clip_norm", "L2 norm that an update is clipped to before it is noised.",
              RUVD_FIELD(float, privacy.clip_norm), 1e-3, 16},
    ConfigKey{"privacy", "release_epsilon",
              "Privacy that one noised update or masked sum costs: epsilon at `delta`, node level.",
              RUVD_FIELD(float, privacy.release_epsilon), 1e-3, 10'000},
    ConfigKey{
        "privacy", "node_epsilon",
        "Epsilon of all updates together, for good; at its end nothing more leaves. 0 is none.",
        RUVD_FIELD(float, privacy.node_epsilon), 0, 1'000'000},
    ConfigKey{"privacy", "delta", "Delta that every epsilon is said at.",
              RUVD_FIELD(float, privacy.delta), 1e-12, 0.1},
    ConfigKey{"privacy", "signal",
              "Expected norm of the nodes' mean clipped update, as a share of clip_norm.",
              RUVD_FIELD(float, privacy.signal), 0.001, 1},
    ConfigKey{"privacy", "release_seconds",
              "Seconds between two noised updates or masked sums, at least.",
              RUVD_FIELD(int, privacy.release_seconds), 1, kMaxSeconds},
    ConfigKey{"privacy", "centroids",
              "Whether noised centroids of where this node's lessons lie leave under tier dp.",
              RUVD_FIELD(bool, privacy.centroids)},
    ConfigKey{"privacy", "centroid_epsilon",
              "Privacy that one release of centroids costs one lesson: epsilon at `delta`, example "
              "level.",
              RUVD_FIELD(float, privacy.centroid_epsilon), 1e-3, 10'000},
    ConfigKey{"privacy", "example_epsilon",
              "Epsilon of centroids and noised updates together for one lesson, for good; at its "
              "end no centroids leave. 0 is none.",
              RUVD_FIELD(float, privacy.example_epsilon), 0, 1'000'000},
    ConfigKey{"privacy", "centroid_examples",
              "Lessons that a noised centroid is of more than, as far as noise lets that be told.",
              RUVD_FIELD(int, privacy.centroid_examples), 10, kMaxEntries},
    ConfigKey{"privacy", "centroid_seconds",
              "Seconds between the first two releases of centroids; each further one waits twice "
              "as long.",
              RUVD_FIELD(int, privacy.centroid_seconds), 1, kMaxCentroidSeconds},
    ConfigKey{"privacy", "public_examples",
              "Lessons that a pattern has at least before it leaves under tier public, or is taken "
              "from a "
              "peer; the embedding of a pattern of one is that of its prompt.",
              RUVD_FIELD(int, privacy.public_examples), 1, kMaxEntries},
    ConfigKey{"privacy", "policy",
              "TOML file of the site policy; empty allows every tier in the scope `default`.",
              RUVD_FIELD(std::string, privacy.policy)},
    ConfigKey{"privacy", "scope", "Scope of the site policy that this node's data is in.",
              RUVD_FIELD(std::string, privacy.scope)},

    ConfigKey{"storage", "soft_reserve_bytes", "Below this free space new patterns are refused.",
              RUVD_FIELD(uint64_t, storage.soft_reserve_bytes), 0, kMaxBytes},
    ConfigKey{"storage", "hard_reserve_bytes", "Below this free space the store is read-only.",
              RUVD_FIELD(uint64_t, storage.hard_reserve_bytes), 0, kMaxBytes},
    ConfigKey{"storage", "seal_key",
              "Source of the key of the data at rest: file, passphrase or credential (systemd).",
              RUVD_FIELD(std::string, storage.seal_key), 0, 0, TextRule::kOneOf, kSealKeys},
    ConfigKey{"storage", "passphrase_file", "File of mode 0600 whose first line is the passphrase.",
              RUVD_FIELD(std::string, storage.passphrase_file)},
    ConfigKey{"storage", "patterns", "Patterns that are kept; those worth least give way.",
              RUVD_FIELD(int, storage.patterns), 1, limits::kMaxPatterns},
    ConfigKey{"storage", "hnsw_m", "Links of a node of the pattern index.",
              RUVD_FIELD(int, storage.hnsw_m), 2, 128},
    ConfigKey{"storage", "hnsw_ef_construction", "Breadth of the search on insertion.",
              RUVD_FIELD(int, storage.hnsw_ef_construction), 4, 4096},
    ConfigKey{"storage", "witness_days",
              "Days that the records of requests are kept; at most `witness_entries` of them.",
              RUVD_FIELD(int, storage.witness_days), 1, kMaxDays},
    ConfigKey{"storage", "witness_entries", "Records of requests that are kept; 6 KiB each.",
              RUVD_FIELD(int, storage.witness_entries), 1, kMaxEntries},
    ConfigKey{"storage", "witness_archive",
              "Existing folder for sealed archives of older records; empty deletes them.",
              RUVD_FIELD(std::string, storage.witness_archive)},
    ConfigKey{"storage", "session_days", "Days that idle conversations are kept.",
              RUVD_FIELD(int, storage.session_days), 1, kMaxDays},

    ConfigKey{"metrics", "listen", "HOST:PORT of the Prometheus endpoint; empty is none.",
              RUVD_FIELD(std::string, metrics.listen), 0, 0, TextRule::kAddressOrEmpty},

    ConfigKey{"log", "level", "The least important messages that are written.",
              RUVD_FIELD(std::string, log.level), 0, 0, TextRule::kOneOf, kLevels},
    ConfigKey{"log", "format", "auto is text on a terminal, JSON lines otherwise.",
              RUVD_FIELD(std::string, log.format), 0, 0, TextRule::kOneOf, kFormats},
};

#undef RUVD_FIELD

}  // namespace

std::string ConfigKey::dotted() const {
  std::string text(section);
  return text.append(1, '.').append(name);
}

std::string ConfigKey::variable() const {
  std::string text = "RUVD_";
  text.append(section).append("__").append(name);
  for (char& c : text) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::span<const ConfigKey> ConfigKeys() {
  return kKeys;
}

std::span<const std::string> ConfigKeyNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>;
    list->reserve(kKeys.size());
    for (const ConfigKey& key : kKeys) {
      list->push_back(key.dotted());
    }
    return list;
  }();
  return *names;
}

const ConfigKey* FindConfigKey(std::string_view dotted) {
  for (const ConfigKey& key : kKeys) {
    if (key.dotted() == dotted) {
      return &key;
    }
  }
  return nullptr;
}

}  // namespace ruvd::config
