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

// Upper limits that only catch typing errors: more cores than a machine has, more waiting requests
// than clients wait for.
constexpr double kMaxThreads = 1024;
constexpr double kMaxQueue = 65'536;
constexpr double kMaxTokens = 1 << 20;
constexpr double kMaxDgrQueries = 64;
constexpr double kMaxRouterValue = 1'000'000;
constexpr double kMaxRank = 256;
constexpr double kMaxLayers = 1024;
constexpr double kMaxSeconds = 7 * 24 * 3600;
constexpr double kMaxCentroidSeconds = 366 * 86'400;
// The items of two rounds must fit into their lifetime of three hours.
constexpr double kMaxMaskedSeconds = 5400;
constexpr double kMaxDays = 3650;
constexpr double kMaxEntries = 100'000'000;
constexpr double kMaxBytes = 1ULL << 50;

#define RUVD_FIELD(type, member) [](NodeConfig& config) -> type& { return config.member; }

const std::array kKeys = {
    ConfigKey{"node", "name", "Name of this node for people; lists and logs show it.",
              RUVD_FIELD(std::string, node.name)},
    ConfigKey{"node", "data_dir",
              "Folder for keys and store; it is created with mode 0700. Required.",
              RUVD_FIELD(std::string, node.data_dir)},

    ConfigKey{"api", "listen",
              "HOST:PORT of the gRPC services for clients; port 0 picks a free port.",
              RUVD_FIELD(std::string, api.listen), 0, 0, TextRule::kAddress},
    ConfigKey{"api", "tls_cert",
              "PEM file of the server's TLS certificate; if empty, connections are not encrypted.",
              RUVD_FIELD(std::string, api.tls_cert)},
    ConfigKey{"api", "tls_key",
              "PEM file (mode 0600) of the certificate's key; both files are read again when they "
              "change.",
              RUVD_FIELD(std::string, api.tls_key)},
    ConfigKey{"api", "token_file",
              "File (mode 0600) with one line `ROLE[,ROLE] TOKEN` per client; roles are observer, "
              "contributor and admin. If empty, clients need no token.",
              RUVD_FIELD(std::string, api.token_file)},
    ConfigKey{"api", "allow_remote",
              "Allow a non-loopback `listen` without TLS and tokens: any client that reaches it "
              "may do everything.",
              RUVD_FIELD(bool, api.allow_remote)},

    ConfigKey{"model", "path", "GGUF file of the model. Required.",
              RUVD_FIELD(std::string, model.path)},

    ConfigKey{
        "inference", "sampler",
        "Sampler for requests that name none: it decides which positions a denoising step commits.",
        RUVD_FIELD(std::string, inference.sampler), 0, 0, TextRule::kOneOf, kSamplers},
    ConfigKey{"inference", "threads",
              "Compute threads; 0 means one less than the number of cores, at least 1.",
              RUVD_FIELD(int, inference.threads), 0, kMaxThreads},
    ConfigKey{"inference", "queue",
              "Number of requests that may wait; further requests are refused.",
              RUVD_FIELD(int, inference.queue), 1, kMaxQueue},
    ConfigKey{"inference", "max_tokens_limit",
              "Most new tokens of one request; 0 means as many as fit the context.",
              RUVD_FIELD(int, inference.max_tokens_limit), 0, kMaxTokens},
    ConfigKey{"inference", "precision",
              "Precision of completions: fast (activations rounded to 8 bits) or exact (float32).",
              RUVD_FIELD(std::string, inference.precision), 0, 0, TextRule::kOneOf, kPrecisions},
    ConfigKey{"inference", "kv_bytes",
              "Memory for all keys and values; cached shared prefixes are dropped when it is full.",
              RUVD_FIELD(uint64_t, inference.kv_bytes), 1 << 20, kMaxBytes},
    ConfigKey{"inference", "kv_format",
              "Format of keys and values: f16, q8 (half the memory of f16) or f32.",
              RUVD_FIELD(std::string, inference.kv_format), 0, 0, TextRule::kOneOf, kKvFormats},
    ConfigKey{"inference", "adapters",
              "LoRA files, each FILE or FILE=WEIGHT, that requests may choose from; a request that "
              "chooses none gets all of them.",
              RUVD_FIELD(std::vector<std::string>, inference.adapters)},
    ConfigKey{"inference", "adapter_bytes",
              "Memory for adapters; when it is full, the least recently used adapter is dropped "
              "and is read again on demand.",
              RUVD_FIELD(uint64_t, inference.adapter_bytes), 1 << 20, kMaxBytes},
    ConfigKey{
        "inference", "router",
        "Learned router that chooses steps, cache and adapters for requests that leave them open.",
        RUVD_FIELD(std::string, inference.router), 0, 0, TextRule::kOneOf, kRouters},
    ConfigKey{"inference", "router_exploration",
              "Share of requests that the router serves in a random way, so that it can learn.",
              RUVD_FIELD(float, inference.router_exploration), 0, 1},
    ConfigKey{"inference", "router_value",
              "Value of one good completion for the router; 1 is the cost of one completion served "
              "as requested.",
              RUVD_FIELD(float, inference.router_value), 0, kMaxRouterValue},

    ConfigKey{"retrieval", "similarity",
              "Lowest cosine similarity at which a pattern's adapter applies; 0 means the model's "
              "default.",
              RUVD_FIELD(float, retrieval.similarity), -1, 1},
    ConfigKey{"retrieval", "max_adapters", "Most pattern adapters of one request.",
              RUVD_FIELD(int, retrieval.max_adapters), 0, 16},
    ConfigKey{"retrieval", "dgr",
              "Denoising-guided retrieval: the rule by which a completion searches again for "
              "adapters while it is denoised.",
              RUVD_FIELD(std::string, retrieval.dgr), 0, 0, TextRule::kOneOf, kDgrStrategies},
    ConfigKey{"retrieval", "dgr_queries", "Most such searches of one completion.",
              RUVD_FIELD(int, retrieval.dgr_queries), 0, kMaxDgrQueries},
    ConfigKey{"retrieval", "dgr_min_t",
              "Masked share of the window below which a completion no longer searches.",
              RUVD_FIELD(float, retrieval.dgr_min_t), 0, 1},
    ConfigKey{"retrieval", "graph",
              "Feedback changes a session's later pattern similarities by at most 5 %, even after "
              "a restart.",
              RUVD_FIELD(bool, retrieval.graph)},

    ConfigKey{"learning", "enabled",
              "Train on feedback. Session memory has its own switch, `instant`.",
              RUVD_FIELD(bool, learning.enabled)},
    ConfigKey{"learning", "min_rating", "Lowest rating of a completion that is learned from.",
              RUVD_FIELD(float, learning.min_rating), 0, 1},
    ConfigKey{"learning", "rank", "Rank of a pattern's adapter.", RUVD_FIELD(int, learning.rank), 1,
              kMaxRank},
    ConfigKey{"learning", "layers",
              "Number of last layers whose linear matrices a pattern's adapter changes.",
              RUVD_FIELD(int, learning.layers), 1, kMaxLayers},
    ConfigKey{"learning", "steps", "Optimiser steps of one lesson; 0 means the trainer's default.",
              RUVD_FIELD(int, learning.steps), 0, 100'000},
    ConfigKey{"learning", "background_requests",
              "Number of rated completions that starts a background round.",
              RUVD_FIELD(int, learning.background_requests), 1, kMaxQueue},
    ConfigKey{"learning", "background_seconds",
              "Longest time in seconds that a rated completion waits for a background round.",
              RUVD_FIELD(int, learning.background_seconds), 1, kMaxSeconds},
    ConfigKey{
        "learning", "cluster_similarity",
        "Lowest cosine similarity at which a lesson joins a pattern; 0 means the model's default.",
        RUVD_FIELD(float, learning.cluster_similarity), 0, 1},
    ConfigKey{
        "learning", "merge_similarity",
        "Cosine similarity at which two patterns of this node merge; 0 means the model's default.",
        RUVD_FIELD(float, learning.merge_similarity), 0, 2},
    ConfigKey{"learning", "quality_decay",
              "Share of a pattern's former quality that each new lesson keeps.",
              RUVD_FIELD(float, learning.quality_decay), 0, 1},
    ConfigKey{"learning", "min_improvement",
              "Least gain on held-out lessons, in nats per token, for which an adapter is kept.",
              RUVD_FIELD(float, learning.min_improvement), 0, 100},
    ConfigKey{"learning", "slow_down",
              "Learning waits while it slows the 99th percentile of denoising steps by more than "
              "this share.",
              RUVD_FIELD(float, learning.slow_down), 0, 100},
    ConfigKey{"learning", "memory_bytes", "Memory for training and for session memory.",
              RUVD_FIELD(uint64_t, learning.memory_bytes), 1 << 20, kMaxBytes},
    ConfigKey{"learning", "deep_hours", "Hours between two deep rounds; 0 means only on demand.",
              RUVD_FIELD(int, learning.deep_hours), 0, kMaxDays * 24},
    ConfigKey{"learning", "deep_rank", "Rank of the adapter that a deep round trains.",
              RUVD_FIELD(int, learning.deep_rank), 1, kMaxRank},
    ConfigKey{"learning", "deep_steps",
              "Most optimiser steps of a deep round; it stops earlier when held-out lessons no "
              "longer improve.",
              RUVD_FIELD(int, learning.deep_steps), 1, 10'000},
    ConfigKey{"learning", "deep_threads",
              "Low-priority compute threads of a deep round, in addition to inference.threads.",
              RUVD_FIELD(int, learning.deep_threads), 1, kMaxThreads},
    ConfigKey{"learning", "deep_learning_rate", "Learning rate of a deep round (AdamW).",
              RUVD_FIELD(float, learning.deep_learning_rate), 1e-6, 1},
    ConfigKey{"learning", "deep_scope",
              "Requests that use what deep rounds learned: those whose prompts resemble the "
              "lessons' prompts (related), or all.",
              RUVD_FIELD(std::string, learning.deep_scope), 0, 0, TextRule::kOneOf, kDeepScopes},
    ConfigKey{"learning", "deep_guard",
              "Protection against forgetting in deep rounds: keep the model's predictions on "
              "general text (replay_kl), train on general text beside the lessons (replay; needs a "
              "large general_text), EWC++ (ewc), or a combination.",
              RUVD_FIELD(std::string, learning.deep_guard), 0, 0, TextRule::kOneOf, kDeepGuards},
    ConfigKey{"learning", "deep_ewc_strength", "Strength of the EWC++ penalty.",
              RUVD_FIELD(float, learning.deep_ewc_strength), 0, 1e9},
    ConfigKey{"learning", "deep_banks",
              "Timestep banks of a deep round, each with a residual beside the adapter; 0 means no "
              "banks.",
              RUVD_FIELD(int, learning.deep_banks), 0, limits::kMaxTimestepBanks},
    ConfigKey{"learning", "deep_bank_rank", "Rank of a bank's residual.",
              RUVD_FIELD(int, learning.deep_bank_rank), 1, kMaxRank},
    ConfigKey{"learning", "deep_bank_rate",
              "Learning rate of the residuals, as a multiple of deep_learning_rate.",
              RUVD_FIELD(float, learning.deep_bank_rate), 1e-3, 10},
    ConfigKey{"learning", "deep_bank_decay",
              "Share of a residual that each optimiser step removes.",
              RUVD_FIELD(float, learning.deep_bank_decay), 0, 0.5},
    ConfigKey{"learning", "general_text",
              "File of general text (.txt or .jsonl, optionally .zst) that deep rounds replay and "
              "are measured on; if empty, the built-in text is used.",
              RUVD_FIELD(std::string, learning.general_text)},
    ConfigKey{"learning", "instant",
              "Sessions remember what feedback taught them, unless a request says otherwise.",
              RUVD_FIELD(bool, learning.instant)},

    ConfigKey{"federation", "enabled", "Link to peers. Sharing also needs the operator's consent.",
              RUVD_FIELD(bool, federation.enabled)},
    ConfigKey{"federation", "listen", "HOST:PORT of the link service for peers.",
              RUVD_FIELD(std::string, federation.listen), 0, 0, TextRule::kAddress},
    ConfigKey{"federation", "advertise", "HOST:PORT that peers dial; if empty, `listen` is used.",
              RUVD_FIELD(std::string, federation.advertise), 0, 0, TextRule::kAddressOrEmpty},
    ConfigKey{"federation", "seeds", "HOST:PORT of each node to dial at start.",
              RUVD_FIELD(std::vector<std::string>, federation.seeds), 0, 0, TextRule::kAddress},
    ConfigKey{"federation", "certificate",
              "File of the admission certificate; if empty, DATA_DIR/node.cert is used.",
              RUVD_FIELD(std::string, federation.certificate)},
    ConfigKey{"federation", "authority",
              "Public key of the cluster authority, as 64 hexadecimal digits.",
              RUVD_FIELD(std::string, federation.authority), 0, 0, TextRule::kHex64OrEmpty},
    ConfigKey{"federation", "tls",
              "TLS of links between nodes: required, or off for plain text. All nodes need the "
              "same value.",
              RUVD_FIELD(std::string, federation.tls), 0, 0, TextRule::kOneOf, kLinkTls},
    ConfigKey{"federation", "relay",
              "Forward links between peers that cannot dial each other. The traffic is sealed and "
              "limited to 8 MiB per second in total.",
              RUVD_FIELD(bool, federation.relay)},
    ConfigKey{
        "federation", "max_stale_hours",
        "Age in hours of the newest revocation list above which new links are refused, except from "
        "a node with a newer list; 0 allows any age, for a cluster whose authority is offline.",
        RUVD_FIELD(int, federation.max_stale_hours), 0, kMaxSeconds},
    ConfigKey{"federation", "round_seconds",
              "Seconds between two offers of a changed update, and between two attempts of an "
              "unfinished round.",
              RUVD_FIELD(int, federation.round_seconds), 1, kMaxSeconds},
    ConfigKey{"federation", "masked_seconds",
              "Seconds between the starts of masked rounds, by the wall clock. All nodes of the "
              "cluster need the same value. A round waits for keys for a thirtieth of this time.",
              RUVD_FIELD(int, federation.masked_seconds), 10, kMaxMaskedSeconds},
    ConfigKey{"federation", "banks",
              "Timestep banks of the shared R-core; 1 means one bank for all t. Nodes may use "
              "different numbers.",
              RUVD_FIELD(int, federation.banks), 1, limits::kMaxTimestepBanks},
    ConfigKey{"federation", "strategy",
              "Weight of a node's update in each bank: by how much of the bank it covers "
              "(timestep), by its gain on lessons held out here (quality), by how similar the "
              "nodes' schedules are (schedule), or by all three (hybrid).",
              RUVD_FIELD(std::string, federation.strategy), 0, 0, TextRule::kOneOf, kStrategies},
    ConfigKey{"federation", "timestep_weight", "Weight of `timestep` in the strategy hybrid.",
              RUVD_FIELD(float, federation.timestep_weight), 0, 1000},
    ConfigKey{"federation", "quality_weight", "Weight of `quality` in the strategy hybrid.",
              RUVD_FIELD(float, federation.quality_weight), 0, 1000},
    ConfigKey{"federation", "schedule_weight", "Weight of `schedule` in the strategy hybrid.",
              RUVD_FIELD(float, federation.schedule_weight), 0, 1000},
    ConfigKey{
        "federation", "outer_step",
        "Step of a round from the served adapter towards the combined update; 1 goes all the way.",
        RUVD_FIELD(float, federation.outer_step), 1e-3, 1},
    ConfigKey{"federation", "commit",
              "Banks of a round that are kept: all that harm neither lessons nor general text "
              "(harmless), or only those that also improve (gain).",
              RUVD_FIELD(std::string, federation.commit), 0, 0, TextRule::kOneOf, kCommits},
    ConfigKey{"federation", "core_rank", "Rank of the shared R-core.",
              RUVD_FIELD(int, federation.core_rank), 1, kMaxRank},
    ConfigKey{"federation", "frame_seed",
              "Seed of the random frame. All nodes of the cluster need the same value.",
              RUVD_FIELD(uint64_t, federation.frame_seed), 0, static_cast<double>(INT64_MAX)},
    ConfigKey{"federation", "pattern_quality",
              "Lowest quality (0 to 1) that a peer's pattern must claim to be accepted.",
              RUVD_FIELD(float, federation.pattern_quality), 0, 1},

    ConfigKey{"privacy", "clip_norm",
              "Clip norm: largest L2 norm of an update before noise is added.",
              RUVD_FIELD(float, privacy.clip_norm), 1e-3, 16},
    ConfigKey{"privacy", "release_epsilon",
              "Epsilon at `delta` that one noised update or one share of a masked sum costs, for "
              "all data of this node.",
              RUVD_FIELD(float, privacy.release_epsilon), 1e-3, 10'000},
    ConfigKey{"privacy", "node_epsilon",
              "Epsilon budget of all updates together, for the life of the node; when it is spent, "
              "no update leaves. 0 lets no update leave.",
              RUVD_FIELD(float, privacy.node_epsilon), 0, 1'000'000},
    ConfigKey{"privacy", "delta", "Delta at which every epsilon is stated.",
              RUVD_FIELD(float, privacy.delta), 1e-12, 0.1},
    ConfigKey{"privacy", "signal",
              "Expected norm of the mean of the nodes' clipped updates, as a share of clip_norm.",
              RUVD_FIELD(float, privacy.signal), 0.001, 1},
    ConfigKey{"privacy", "release_seconds",
              "Least time in seconds between two noised updates or masked sums.",
              RUVD_FIELD(int, privacy.release_seconds), 1, kMaxSeconds},
    ConfigKey{"privacy", "centroids",
              "Release noised centroids that show where this node's lessons lie, under tier dp.",
              RUVD_FIELD(bool, privacy.centroids)},
    ConfigKey{"privacy", "centroid_epsilon",
              "Epsilon at `delta` that one release of centroids costs each lesson.",
              RUVD_FIELD(float, privacy.centroid_epsilon), 1e-3, 10'000},
    ConfigKey{"privacy", "example_epsilon",
              "Epsilon budget of one lesson for all centroids and noised updates together; when it "
              "is spent, no centroids leave. 0 lets no centroids leave.",
              RUVD_FIELD(float, privacy.example_epsilon), 0, 1'000'000},
    ConfigKey{"privacy", "centroid_examples",
              "A noised centroid must cover more lessons than this, as far as the noise lets that "
              "be known.",
              RUVD_FIELD(int, privacy.centroid_examples), 10, kMaxEntries},
    ConfigKey{
        "privacy", "centroid_seconds",
        "Seconds between the first two releases of centroids; each further wait is twice as long.",
        RUVD_FIELD(int, privacy.centroid_seconds), 1, kMaxCentroidSeconds},
    ConfigKey{"privacy", "public_examples",
              "Least number of lessons of a pattern that leaves under tier public or is accepted "
              "from a peer. A pattern of one lesson would reveal the embedding of its prompt.",
              RUVD_FIELD(int, privacy.public_examples), 1, kMaxEntries},
    ConfigKey{
        "privacy", "policy",
        "TOML file of the site policy; if empty, every tier is allowed in the scope `default`.",
        RUVD_FIELD(std::string, privacy.policy)},
    ConfigKey{"privacy", "scope", "Scope of the site policy that applies to this node's data.",
              RUVD_FIELD(std::string, privacy.scope)},

    ConfigKey{"storage", "soft_reserve_bytes",
              "Free disk space below which new patterns are refused.",
              RUVD_FIELD(uint64_t, storage.soft_reserve_bytes), 0, kMaxBytes},
    ConfigKey{"storage", "hard_reserve_bytes",
              "Free disk space below which the store is read-only.",
              RUVD_FIELD(uint64_t, storage.hard_reserve_bytes), 0, kMaxBytes},
    ConfigKey{
        "storage", "seal_key",
        "Source of the key that protects data at rest: file, passphrase or credential (systemd).",
        RUVD_FIELD(std::string, storage.seal_key), 0, 0, TextRule::kOneOf, kSealKeys},
    ConfigKey{"storage", "passphrase_file", "File (mode 0600) whose first line is the passphrase.",
              RUVD_FIELD(std::string, storage.passphrase_file)},
    ConfigKey{"storage", "patterns",
              "Most patterns that the store keeps; the least valuable are removed first.",
              RUVD_FIELD(int, storage.patterns), 1, limits::kMaxPatterns},
    ConfigKey{"storage", "hnsw_m", "HNSW parameter M: links of each node of the pattern index.",
              RUVD_FIELD(int, storage.hnsw_m), 2, 128},
    ConfigKey{"storage", "hnsw_ef_construction",
              "HNSW parameter efConstruction: breadth of the search on insertion.",
              RUVD_FIELD(int, storage.hnsw_ef_construction), 4, 4096},
    ConfigKey{"storage", "witness_days",
              "Days for which records of requests are kept, up to `witness_entries` records.",
              RUVD_FIELD(int, storage.witness_days), 1, kMaxDays},
    ConfigKey{"storage", "witness_entries",
              "Most records of requests that are kept; each takes about 6 KiB.",
              RUVD_FIELD(int, storage.witness_entries), 1, kMaxEntries},
    ConfigKey{"storage", "witness_archive",
              "Existing folder for sealed archives of older records; if empty, they are deleted.",
              RUVD_FIELD(std::string, storage.witness_archive)},
    ConfigKey{"storage", "session_days", "Days for which idle conversations are kept.",
              RUVD_FIELD(int, storage.session_days), 1, kMaxDays},

    ConfigKey{"metrics", "listen",
              "HOST:PORT of the Prometheus endpoint; if empty, there is no endpoint.",
              RUVD_FIELD(std::string, metrics.listen), 0, 0, TextRule::kAddressOrEmpty},

    ConfigKey{"log", "level", "Least severe level of messages that are logged.",
              RUVD_FIELD(std::string, log.level), 0, 0, TextRule::kOneOf, kLevels},
    ConfigKey{"log", "format",
              "Log format: text, json (JSON lines), or auto (text on a terminal, otherwise json).",
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
