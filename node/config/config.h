// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::config {

// Everything a node can be told. Each field's TOML key is its section and name ("node.data_dir"),
// its environment variable RUVD_NODE__DATA_DIR, its flag of `ruvd serve` --node.data_dir.
struct NodeConfig {
  struct NodeSection {
    std::string name = "node";
    std::string data_dir;  // required; created with mode 0700
  } node;
  struct ApiSection {
    // Inference, learning, pattern and admin services. Port 0 picks a free one.
    std::string listen = "127.0.0.1:7420";
    // PEM files: the server's certificate (with its chain) and its key. Empty: plain connections.
    std::string tls_cert;
    std::string tls_key;
    // Who may call what, a line each: ROLE[,ROLE] TOKEN. Empty: whoever reaches the port may do
    // everything.
    std::string token_file;
    // Beyond loopback without TLS and tokens: whoever reaches it may change consent, erase users
    // and read patterns.
    bool allow_remote = false;
  } api;
  struct ModelSection {
    std::string path;  // required; a GGUF file
  } model;
  struct InferenceSection {
    // Of requests that name none, in the masked modes; "auto": the engine's choice.
    std::string sampler = "auto";
    int threads = 0;                 // 0: one per core, less one, at least one
    int queue = 64;                  // waiting requests; more are refused with RESOURCE_EXHAUSTED
    int max_tokens_limit = 0;        // 0: whatever fits the context
    std::string precision = "fast";  // of completions; "exact" is float32 throughout
    // Keys and values of all requests and of the prefixes they share. In f16 the default holds 65k
    // tokens of the 29M model, 44k of a 0.5B one with two kv heads and 4k of an 8B one with eight.
    uint64_t kv_bytes = 512ULL << 20;
    // f16 rounds less than the integer kernels do and needs half of f32's memory and bandwidth.
    std::string kv_format = "f16";
    // GGUF-LoRA files, with timestep banks or without, FILE or FILE=WEIGHT, for requests to choose
    // from by name; those that choose nothing get all with these weights (1 without).
    std::vector<std::string> adapters;
    // Factors of adapters in memory; those beyond are read again when somebody asks for them.
    uint64_t adapter_bytes = 256ULL << 20;
    // What chooses how requests are served, of what they leave open: off, logistic, fastgrnn or
    // cascade. Off: no router was better than chance (bench/RESULTS.md).
    std::string router = "off";
    float router_exploration = 0.05F;  // share of requests that it serves at random
    float router_value = 10;           // of a good completion, in costs of one as it is asked for
  } inference;
  struct RetrievalSection {
    // Cosine at which a pattern's adapter applies; 0: what suits the model's embeddings.
    float similarity = 0;
    int max_adapters = 2;
    // Denoising-guided retrieval: when a completion asks for other adapters while it is denoised.
    // off, entropy, confidence_gap, hybrid or adaptive.
    std::string dgr = "off";
    int dgr_queries = 2;     // at most, of one completion
    float dgr_min_t = 0.3F;  // masked share below which none is asked for
    // Feedback moves a session's relations to the patterns that served it, and those move their
    // similarities in its next searches, by 5 % at most.
    bool graph = false;
  } retrieval;
  struct LearningSection {
    bool enabled = true;
    float min_rating = 0.7F;  // completions rated at least this are learned from
    int rank = 2;
    int layers = 2;                // a pattern's adapter changes all linears of so many last layers
    int steps = 0;                 // 0: the trainer's default
    int background_requests = 8;   // rated completions that start a background round
    int background_seconds = 60;   // or this age of the oldest unlearned one
    float cluster_similarity = 0;  // cosine at which a lesson belongs to a pattern; 0: as above
    float merge_similarity = 0;    // cosine at which two patterns are one; 0: as above
    float quality_decay = 0.8F;    // of a pattern's quality, with each new lesson
    float min_improvement = 0.0F;  // held-out nats per token an adapter must gain to be kept
    // Learning waits while the slowest hundredth of denoising steps takes so much longer than
    // without it, as a share.
    float slow_down = 0.2F;
    uint64_t memory_bytes = 512ULL
                            << 20;  // of training and session memory; above it no loop learns
    int deep_hours = 0;             // between two deep rounds; 0: on demand only
    int deep_rank = 8;              // of the adapter that they train on all linears
    int deep_steps = 480;           // at most
    int deep_threads = 1;           // that they compute on
    float deep_learning_rate = 2e-3F;
    // Which requests get what it publishes: "related", those with prompts like the lessons', or
    // "all".
    std::string deep_scope = "related";
    // What keeps a round from forgetting: replay, replay_kl, ewc, replay_ewc or replay_kl_ewc.
    std::string deep_guard = "replay_kl";
    float deep_ewc_strength = 10'000;  // of the penalty of ewc
    // Timestep banks, each with a residual beside the adapter for all t; 0: none.
    int deep_banks = 0;
    int deep_bank_rank = 4;
    float deep_bank_rate = 0.3F;  // of the learning rate
    float deep_bank_decay = 0;    // share of a residual that is lost with each step
    // A file of general text (plain, JSON lines, Zstandard) in place of the built-in one: for
    // replay, and for the gate of deep rounds. Empty: the built-in one.
    std::string general_text;
    bool instant = false;  // sessions remember what feedback taught them, at once
  } learning;
  struct FederationSection {
    bool enabled = false;
    std::string listen = "127.0.0.1:7421";  // Link service
    std::string advertise;                  // what peers dial; empty: listen
    std::vector<std::string> seeds;
    std::string certificate;       // admission certificate file; default DATA_DIR/node.cert
    std::string authority;         // the cluster authority's public key, 64 hexadecimal digits
    std::string tls = "required";  // of links: required or off, equal on all nodes
    bool relay = true;             // carry sealed links of peers that cannot dial each other
    int max_stale_hours = 168;     // age of the newest revocation list; 0: however old
    int round_seconds = 10;    // how often a changed update is offered, and unfinished rounds go on
    int masked_seconds = 600;  // between masked rounds; equal in the whole cluster
    // Timestep banks of the shared core; 1: one for all t. Those of other nodes may differ.
    int banks = 1;
    // What weighs updates: timestep, quality, schedule or hybrid, a mean of the three by weight.
    std::string strategy = "timestep";
    float timestep_weight = 1;
    float quality_weight = 1;
    float schedule_weight = 1;
    float outer_step = 1;  // share of the way that a round takes towards what updates say
    // Which banks of a round are kept: those that are harmless, or those that show a gain.
    std::string commit = "harmless";
    int core_rank = 32;             // of the shared R-core
    uint64_t frame_seed = 1;        // of the random frame; equal in the whole cluster
    float pattern_quality = 0.25F;  // that a peer's pattern claims, at least
  } federation;
  // Of what leaves under the tiers `dp` and `masked`: noised updates and masked sums of them, whose
  // unit is this node. Nodes add up where clip_norm, release_epsilon and delta are the same.
  struct PrivacySection {
    float clip_norm = 1;           // L2, of the whole update
    float release_epsilon = 1;     // of one update, at `delta`
    float node_epsilon = 8;        // of all updates of the node's life; 0: none may leave
    float delta = 1e-6F;           // that every epsilon is said at
    float signal = 0.5F;           // expected norm of the nodes' mean clipped update over clip_norm
    int release_seconds = 86'400;  // between two charged updates, at least
    // Noised centroids, whose unit is one lesson: a promise of its own, so it is asked for.
    bool centroids = false;
    float centroid_epsilon = 4;        // of one release for one lesson, at `delta`
    float example_epsilon = 8;         // of all that one lesson is in, for good; 0: none leaves
    int centroid_examples = 50;        // lessons that a centroid is of more than
    int centroid_seconds = 2'592'000;  // before the second release, then twice as long each time
    int public_examples = 10;  // lessons of a pattern that leaves plainly or is taken, at least
    std::string policy;        // file of the site policy; empty: all tiers, one scope
    std::string scope = "default";  // of the policy, that this node's data is in
  } privacy;
  struct StorageSection {
    uint64_t soft_reserve_bytes = 512ULL << 20;  // below this free space patterns are refused
    uint64_t hard_reserve_bytes = 256ULL << 20;  // below this the store is read-only
    // Where the key comes from that wraps all data keys: "file" (DATA_DIR/seal.key), "passphrase"
    // (Argon2id, parameters in DATA_DIR/seal.kdf) or "credential" (of systemd, ruvd.seal-key).
    std::string seal_key = "file";
    std::string passphrase_file;  // for "passphrase"; its first line
    int patterns = 100'000;       // above this those of the least value are evicted
    int hnsw_m = 16;
    int hnsw_ef_construction = 100;
    int witness_days = 7;           // what requests did is kept as long
    int witness_entries = 100'000;  // ... but no more of it
    std::string witness_archive;    // folder of older entries; empty: they are deleted
    int session_days = 7;           // idle conversations are kept as long
  } storage;
  struct MetricsSection {
    std::string listen;  // Prometheus endpoint, e.g. 127.0.0.1:9420; empty: none
  } metrics;
  struct LogSection {
    std::string level = "info";   // debug, info, warn, error
    std::string format = "auto";  // auto (text on a terminal, JSON lines otherwise), text, json
  } log;
};

// Where the values of a configuration came from, for `ruvd config show --origin`: key to "default",
// "file F", "env V" or "flag".
using ConfigOrigins = std::map<std::string, std::string>;

// Flag > environment > file > default. `file` may be empty. An unknown key anywhere is
// UNKNOWN_CONFIG_KEY and names the closest known one; a value of the wrong type or out of range is
// CONFIG_INVALID with the range. `environment` is variables and their values, those without our
// prefix and "__" are passed over; `flags` are keys and text values. `origins` may be null.
absl::StatusOr<NodeConfig> LoadConfig(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& environment,
    const std::vector<std::pair<std::string, std::string>>& flags, ConfigOrigins* origins);

// What no single key can tell: required keys that are missing, keys that contradict each other.
// CONFIG_INVALID names the key and what to set. LoadConfig does not call it, so that an incomplete
// configuration can be shown.
absl::Status CheckConfig(const NodeConfig& config);

// The configuration as TOML with a comment per key; LoadConfig reads it back unchanged.
std::string ConfigToToml(const NodeConfig& config);

}  // namespace ruvd::config
