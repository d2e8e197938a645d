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
constexpr std::string_view kDgrStrategies[] = {kDgrByWords,      "off",    "entropy",
                                               "confidence_gap", "hybrid", "adaptive"};
constexpr std::string_view kDeepGuards[] = {"replay", "replay_kl", "ewc", "replay_ewc",
                                            "replay_kl_ewc"};
constexpr std::string_view kRouters[] = {"off", "logistic", "fastgrnn", "cascade"};
constexpr std::string_view kContributions[] = {"delta", "gradient"};
constexpr std::string_view kUnits[] = {"lesson", "user", "node"};
constexpr std::string_view kSealKeys[] = {"file", "passphrase", "credential"};
constexpr std::string_view kLinkTls[] = {"required", "off"};
constexpr std::string_view kStrategies[] = {"timestep", "quality", "schedule", "hybrid"};
constexpr std::string_view kAggregations[] = {"default",
                                              "mean",
                                              "median",
                                              "trimmed_mean",
                                              "multi_krum",
                                              "geometric_median",
                                              "nearest_neighbour_trimmed",
                                              "filtered_mean",
                                              "self_clip"};
constexpr std::string_view kOuterOptimizers[] = {"auto", "plain", "momentum", "adam"};
constexpr std::string_view kFormats[] = {"auto", "text", "json"};

// Upper limits that only catch typing errors: more cores than a machine has, more waiting requests
// than clients wait for.
constexpr double kMaxThreads = 1024;
constexpr double kMaxMemoryTokens = 10'000'000;
constexpr double kMaxQueue = 65'536;
constexpr double kMaxTokens = 1 << 20;
constexpr double kMaxRoundRank = 32;  // that of the frames beside the models
constexpr double kMaxProx = 1000;
constexpr double kMaxSeconds = 7 * 24 * 3600;
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
    ConfigKey{
        "api", "http_listen",
        "HOST:PORT of the HTTP API (OpenAI's, and all services by Connect), under the same rules "
        "as `listen`; port 0 picks a free port. If empty, there is no HTTP.",
        RUVD_FIELD(std::string, api.http_listen), 0, 0, TextRule::kAddressOrEmpty},
    ConfigKey{
        "api", "socket",
        "File of the unix socket on which the same services serve processes of the node's own "
        "user and of root, without TLS and tokens. A relative path lies in the data folder; if "
        "empty, there is no socket.",
        RUVD_FIELD(std::string, api.socket)},
    ConfigKey{"api", "tls_cert",
              "PEM file of the server's TLS certificate; if empty, connections are not encrypted.",
              RUVD_FIELD(std::string, api.tls_cert)},
    ConfigKey{"api", "tls_key",
              "PEM file (mode 0600) of the certificate's key; both files are read again when they "
              "change.",
              RUVD_FIELD(std::string, api.tls_key)},
    ConfigKey{"api", "key_file",
              "File (mode 0600) with the keys of clients, which `ruvd key create` makes and SIGHUP "
              "reads again. If empty, clients need no key.",
              RUVD_FIELD(std::string, api.key_file)},
    ConfigKey{"api", "allow_remote",
              "Allow a non-loopback `listen` or `http_listen` without TLS and keys: any client "
              "that reaches it may do everything.",
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

    ConfigKey{"learning", "enabled",
              "Train on feedback and texts, for this node and for rounds with peers. Session "
              "memory has its own switch, experimental.session_memory.",
              RUVD_FIELD(bool, learning.enabled)},
    ConfigKey{"learning", "min_rating", "Lowest rating of a completion that is learned from.",
              RUVD_FIELD(float, learning.min_rating), 0, 1},
    ConfigKey{"learning", "slow_down",
              "Learning waits while it slows the 99th percentile of denoising steps by more than "
              "this share.",
              RUVD_FIELD(float, learning.slow_down), 0, 100},
    ConfigKey{"learning", "memory_bytes", "Memory for training and for session memory.",
              RUVD_FIELD(uint64_t, learning.memory_bytes), 1 << 20, kMaxBytes},
    ConfigKey{"learning", "deep_hours", "Hours between two deep rounds; 0 means only on demand.",
              RUVD_FIELD(int, learning.deep_hours), 0, kMaxDays * 24},
    ConfigKey{"learning", "deep_threads",
              "Low-priority compute threads of a deep round, in addition to inference.threads.",
              RUVD_FIELD(int, learning.deep_threads), 1, kMaxThreads},
    ConfigKey{"learning", "general_text",
              "File of general text (.txt or .jsonl, optionally .zst) that deep rounds replay and "
              "are measured on; if empty, the built-in text is used.",
              RUVD_FIELD(std::string, learning.general_text)},

    ConfigKey{
        "memory", "tokens",
        "Tokens of lessons whose words take part in completions, about 350 bytes each in "
        "main memory and 300, sealed, in the store, and half as much again for completions; where "
        "they are too many, the user with the most makes room. 0 remembers none. It needs the file "
        "MODEL.memory.gguf beside the model.",
        RUVD_FIELD(int, memory.tokens), 0, kMaxMemoryTokens},
    ConfigKey{"memory", "prompts",
              "Remember the prompts of requests that name a user, too, for that user alone; rated "
              "and corrected completions and added texts are remembered in any case.",
              RUVD_FIELD(bool, memory.prompts)},

    ConfigKey{"federation", "enabled", "Link to peers. Sharing also needs the operator's consent.",
              RUVD_FIELD(bool, federation.enabled)},
    ConfigKey{"federation", "listen", "HOST:PORT of the link service for peers.",
              RUVD_FIELD(std::string, federation.listen), 0, 0, TextRule::kAddress},
    ConfigKey{"federation", "advertise", "HOST:PORT that peers dial; if empty, `listen` is used.",
              RUVD_FIELD(std::string, federation.advertise), 0, 0, TextRule::kAddressOrEmpty},
    ConfigKey{"federation", "seeds", "HOST:PORT of each node to dial at start.",
              RUVD_FIELD(std::vector<std::string>, federation.seeds), 0, 0, TextRule::kAddress},
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
    ConfigKey{"federation", "experts",
              "Offer the adapter that this node learned to peers, under the tier public and only "
              "while the users of all its lessons agree, and serve the adapters of peers in "
              "requests whose words choose them, once this node's own texts have gained by them.",
              RUVD_FIELD(bool, federation.experts)},
    ConfigKey{
        "federation", "max_stale_hours",
        "Age in hours of the newest revocation list above which, as without a list, new links are "
        "refused, except from a node with a newer list; 0 allows any age and no list, for a "
        "cluster "
        "whose authority is offline.",
        RUVD_FIELD(int, federation.max_stale_hours), 0, kMaxSeconds},
    ConfigKey{"federation", "round_seconds",
              "Seconds of a round in which the nodes learn one adapter. All nodes need the same "
              "value.",
              RUVD_FIELD(int, federation.round_seconds), 1, kMaxSeconds},
    ConfigKey{"federation", "contributions",
              "What a node gives to a round: delta (its change by local steps, for the tier "
              "public) or gradient (clipped gradients, noised under the tiers dp and masked). All "
              "nodes need the same value.",
              RUVD_FIELD(std::string, federation.contributions), 0, 0, TextRule::kOneOf,
              kContributions},
    ConfigKey{"federation", "rank",
              "Rank of the global adapter's cores; 0 means 32 for delta and 8 for gradient. All "
              "nodes need the same value.",
              RUVD_FIELD(int, federation.rank), 0, kMaxRoundRank},
    ConfigKey{
        "federation", "strategy",
        "Weight of a node's contribution in each bank: by how much of the bank it covers "
        "(timestep), by what it improves on lessons of other nodes (quality; needs delta, and "
        "three others that judge it), by how similar the nodes' schedules are (schedule), or "
        "by the mean of all (hybrid; gradients are never judged, so there without quality). "
        "All nodes need the same value.",
        RUVD_FIELD(std::string, federation.strategy), 0, 0, TextRule::kOneOf, kStrategies},

    ConfigKey{"privacy", "unit",
              "What a private round hides: one lesson, all lessons of one user, or those of the "
              "whole node, whose signal the noise drowns in all but very large clusters.",
              RUVD_FIELD(std::string, privacy.unit), 0, 0, TextRule::kOneOf, kUnits},
    ConfigKey{"privacy", "epsilon",
              "Epsilon budget at `delta` of one unit for all that leaves with noise; when it is "
              "spent, the unit takes part no more. 0 lets nothing noised leave.",
              RUVD_FIELD(float, privacy.epsilon), 0, 1'000'000},
    ConfigKey{"privacy", "node_epsilon",
              "Limit at `delta` of the epsilon that all releases of this node cost together, as if "
              "one unit had borne them; when it is spent, nothing noised leaves. 0: no limit. It "
              "is for the units lesson and user, because under the unit node `epsilon` says this.",
              RUVD_FIELD(float, privacy.node_epsilon), 0, 1'000'000},
    ConfigKey{"privacy", "delta", "Delta at which every epsilon is stated.",
              RUVD_FIELD(float, privacy.delta), 1e-12, 0.1},
    ConfigKey{"privacy", "rounds", "Most rounds in which one unit takes part.",
              RUVD_FIELD(int, privacy.rounds), 1, kMaxSeconds},
    ConfigKey{"privacy", "clip_norm",
              "Clip norm: largest L2 norm of the gradient of one unit. All nodes need "
              "the same value.",
              RUVD_FIELD(float, privacy.clip_norm), 1e-3, 16},
    ConfigKey{"privacy", "noise",
              "Noise of a sum of gradients, as a multiple of `clip_norm`. All nodes need the same "
              "value; each node meets its own epsilon by how many lessons it samples.",
              RUVD_FIELD(float, privacy.noise), 0.3, 100},
    ConfigKey{
        "privacy", "public_examples",
        "Least number of lessons of a pattern that leaves under tier public or is accepted "
        "from a peer. A pattern of one lesson reveals the embedding of its prompt to the members "
        "of the cluster, which consent to tier public covers; a larger number hides it in a "
        "mean.",
        RUVD_FIELD(int, privacy.public_examples), 1, kMaxEntries},
    ConfigKey{
        "privacy", "policy",
        "TOML file of the site policy; if empty, every tier is allowed in the scope `default`.",
        RUVD_FIELD(std::string, privacy.policy)},
    ConfigKey{"privacy", "scope", "Scope of the site policy that applies to this node's data.",
              RUVD_FIELD(std::string, privacy.scope)},

    ConfigKey{"storage", "reserve_bytes",
              "Free disk space in bytes below which new patterns are refused; below half of it the "
              "store is read-only.",
              RUVD_FIELD(uint64_t, storage.reserve_bytes), 0, kMaxBytes},
    ConfigKey{
        "storage", "seal_key",
        "Source of the key that protects data at rest: file, passphrase or credential (systemd).",
        RUVD_FIELD(std::string, storage.seal_key), 0, 0, TextRule::kOneOf, kSealKeys},
    ConfigKey{"storage", "passphrase_file", "File (mode 0600) whose first line is the passphrase.",
              RUVD_FIELD(std::string, storage.passphrase_file)},
    ConfigKey{"storage", "patterns",
              "Most patterns that the store keeps; the least valuable are removed first.",
              RUVD_FIELD(int, storage.patterns), 1, limits::kMaxPatterns},
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

    ConfigKey{"experimental", "session_memory",
              "Sessions remember what feedback taught them, unless a request says otherwise.",
              RUVD_FIELD(bool, experimental.session_memory)},
    ConfigKey{"experimental", "dgr",
              "Denoising-guided retrieval: how a completion chooses adapters again while it is "
              "written: by its words so far (words), or by searching for patterns when it is "
              "uncertain, by one of four rules.",
              RUVD_FIELD(std::string, experimental.dgr), 0, 0, TextRule::kOneOf, kDgrStrategies},
    ConfigKey{"experimental", "graph",
              "Feedback changes a session's later pattern similarities by at most 5 %, even after "
              "a restart.",
              RUVD_FIELD(bool, experimental.graph)},
    ConfigKey{
        "experimental", "router",
        "Learned router that chooses steps, cache and adapters for requests that leave them open.",
        RUVD_FIELD(std::string, experimental.router), 0, 0, TextRule::kOneOf, kRouters},
    ConfigKey{"experimental", "deep_guard",
              "Protection against forgetting in deep rounds: keep the model's predictions on "
              "general text (replay_kl), train on general text beside the lessons (replay; needs a "
              "large learning.general_text), EWC++ (ewc), or a combination.",
              RUVD_FIELD(std::string, experimental.deep_guard), 0, 0, TextRule::kOneOf,
              kDeepGuards},
    ConfigKey{"experimental", "deep_banks",
              "Timestep banks of a deep round, each with a residual beside the adapter; 0 means no "
              "banks.",
              RUVD_FIELD(int, experimental.deep_banks), 0, limits::kMaxTimestepBanks},
    ConfigKey{
        "experimental", "banks",
        "Timestep banks of the global adapter; 1 means one bank for all t. All nodes need the same "
        "value.",
        RUVD_FIELD(int, experimental.banks), 1, limits::kMaxTimestepBanks},
    ConfigKey{"experimental", "aggregation",
              "Rule that combines the contributions of a round. It sees each node's contribution; "
              "under tier masked it sees only the sum of each clique. All nodes need the same "
              "value.",
              RUVD_FIELD(std::string, experimental.aggregation), 0, 0, TextRule::kOneOf,
              kAggregations},
    ConfigKey{"experimental", "outer",
              "Optimiser that moves the global adapter by what a round gave: plain, momentum, or "
              "adam (FedAdam); auto is plain for deltas and adam for gradients. All nodes need the "
              "same value.",
              RUVD_FIELD(std::string, experimental.outer), 0, 0, TextRule::kOneOf,
              kOuterOptimizers},
    ConfigKey{"experimental", "prox",
              "FedProx: strength with which the local steps of a delta stay near the global "
              "adapter; 0 is off. All nodes need the same value.",
              RUVD_FIELD(float, experimental.prox), 0, kMaxProx},
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
