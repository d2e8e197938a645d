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
#include "node/socket_file.h"

namespace ruvd::config {

// The value of experimental.dgr by which words choose adapters again while a completion is written.
inline constexpr std::string_view kDgrByWords = "words";

// The default of api.http_listen. The links of a node listen at the port before it.
inline constexpr std::string_view kHttpListen = "127.0.0.1:7422";

// The configuration of a node. The TOML key of a field is its section and name ("node.data_dir"),
// its environment variable is RUVD_NODE__DATA_DIR, and its flag of `ruvd serve` is --node.data_dir.
// keys.cc has the help text and range of every key.
struct NodeConfig {
  struct NodeSection {
    std::string name = "node";
    std::string data_dir;  // required; created with mode 0700
  } node;
  struct ApiSection {
    // Address of the gRPC services for clients; port 0 picks a free port
    std::string listen = "127.0.0.1:7420";
    // Address of the HTTP API, which serves what OpenAI's clients ask for; port 0 picks a free
    // port; empty: no HTTP. A node of the default address starts without HTTP if another program
    // has it.
    std::string http_listen = std::string(kHttpListen);
    // File of the unix socket on which the same services serve processes of the node's own user; a
    // relative path lies in the data folder; empty: no socket
    std::string socket = ruvd::node::kSocketFile;
    // PEM files of the server's certificate (with its chain) and of its key; empty: plain
    // connections
    std::string tls_cert;
    std::string tls_key;
    // The file has a line ROLE[,ROLE] TOKEN for each client. If the path is empty, any client that
    // reaches the port may do everything.
    std::string key_file;
    // Allows an address other than loopback without TLS and tokens: any client that reaches it may
    // change consent, erase users and read patterns.
    bool allow_remote = false;
  } api;
  struct ModelSection {
    std::string path;  // required; a GGUF file
  } model;
  struct InferenceSection {
    // Sampler of requests that name none, in the masked modes; "auto" lets the engine choose
    std::string sampler = "auto";
    int threads = 0;                 // 0: one per core, less one, at least one
    int queue = 80;                  // waiting requests; more are refused with RESOURCE_EXHAUSTED
    int max_tokens_limit = 0;        // 0: as many as fit the context
    std::string precision = "fast";  // of completions; "exact" uses float32 throughout
    // Memory for keys and values of all requests and of shared prefixes. In f16 the default holds
    // 65k tokens of the 29M model, 44k of a 0.5B model with two kv heads, or 4k of an 8B model with
    // eight.
    uint64_t kv_bytes = 512ULL << 20;
    // f16 rounds less than the integer kernels do, and needs half the memory and bandwidth of f32.
    std::string kv_format = "f16";
    // Each item names a GGUF LoRA file, with or without timestep banks, as FILE or FILE=WEIGHT.
    // Requests choose from them by name; a request that chooses nothing gets all of them with these
    // weights (default 1).
    std::vector<std::string> adapters;
    // Memory for the factors of adapters; the least recently used ones are dropped and read again
    // when a request needs them
    uint64_t adapter_bytes = 256ULL << 20;
  } inference;
  struct LearningSection {
    bool enabled = true;
    float min_rating = 0.7F;  // lowest rating of a completion that is learned from
    // Learning waits while it slows the 99th percentile of denoising steps by more than this share.
    float slow_down = 0.2F;
    uint64_t memory_bytes = 512ULL
                            << 20;  // memory of training and sessions; above it no loop learns
    int deep_hours = 0;             // hours between two deep rounds; 0: only on demand
    int deep_threads = 1;           // compute threads of a deep round
    // File of general text (plain, JSON lines, Zstandard) for replay and for the gate of deep
    // rounds; empty: the built-in text
    std::string general_text;
  } learning;
  struct MemorySection {
    // Tokens of lessons whose words take part in completions; 0: none. One takes some 350 bytes.
    int tokens = 100'000;
    // Whether prompts of requests that name a user are remembered for that user
    bool prompts = false;
  } memory;
  struct FederationSection {
    bool enabled = false;
    std::string listen = "127.0.0.1:7421";  // Link service
    std::string advertise;                  // address that peers dial; empty: listen
    std::vector<std::string> seeds;
    std::string authority;         // the cluster authority's public key, 64 hexadecimal digits
    std::string tls = "required";  // TLS of links: required or off; equal on all nodes
    bool relay = true;             // forwards sealed links of peers that cannot dial each other
    // Offers this node's deep adapter to peers under the tier public, and serves theirs where words
    // choose them
    bool experts = true;
    int max_stale_hours = 168;  // largest age of the newest revocation list; 0: any age
    int round_seconds = 600;    // length of a round in which the nodes learn together
    // What a node gives to a round: delta (its change by local steps, for the tier public) or
    // gradient (clipped gradients, noised under dp and masked). All nodes of a cluster need equal
    // values of this, `rank`, `round_seconds` and `strategy`.
    std::string contributions = "delta";
    // Rank of the global adapter's cores; 0: what did best, 32 for deltas and 8 for gradients,
    // whose noise grows with the rank
    int rank = 0;
    // Weighting of contributions: timestep, quality, schedule, or hybrid, which is the mean of the
    // three; for gradients, which are never judged, of timestep and schedule
    std::string strategy = "timestep";
  } federation;
  // The settings of noised releases, which hide lessons, users or nodes. Nodes learn together only
  // if clip_norm, noise and unit are equal.
  struct PrivacySection {
    // What a private round hides: lesson, user with all lessons of one user, or node with all that
    // it has
    std::string unit = "lesson";
    float epsilon = 8;       // budget of one such unit, for good; 0: nothing noised leaves
    float node_epsilon = 0;  // limit of the whole node where it is not the unit; 0: no limit
    float delta = 1e-6F;     // delta of every epsilon
    int rounds = 20;         // in which one unit takes part at most
    float clip_norm = 1;     // clip norm (L2) of the gradient of one unit
    float noise = 1.5;       // noise of a sum of gradients, as a multiple of clip_norm
    // Least lessons of a pattern that leaves under `public` or is accepted
    int public_examples = 1;
    std::string policy;             // file of the site policy; empty: all tiers, one scope
    std::string scope = "default";  // scope of the policy for this node's data
  } privacy;
  struct StorageSection {
    // Free disk space below which new patterns are refused; below half of it the store is read-only
    uint64_t reserve_bytes = 512ULL << 20;
    // Source of the key that wraps all data keys: "file" (DATA_DIR/seal.key), "passphrase"
    // (Argon2id, with parameters in DATA_DIR/seal.kdf) or "credential" (the systemd credential
    // ruvd.seal-key)
    std::string seal_key = "file";
    std::string passphrase_file;    // for "passphrase": file whose first line it is
    int patterns = 100'000;         // most patterns; the least valuable are evicted
    int witness_days = 7;           // days for which records of requests are kept
    int witness_entries = 100'000;  // most records of requests
    std::string witness_archive;    // folder for older records; empty: they are deleted
    int session_days = 7;           // days for which idle conversations are kept
  } storage;
  struct MetricsSection {
    std::string listen;  // Prometheus endpoint, e.g. 127.0.0.1:9420; empty: none
  } metrics;
  struct LogSection {
    std::string level = "info";   // debug, info, warn, error
    std::string format = "auto";  // auto (text on a terminal, JSON lines otherwise), text, json
  } log;
  // What no measurement has shown to help. Each field is off by default, or has the value that did
  // best (bench/RESULTS.md).
  struct ExperimentalSection {
    bool session_memory = false;  // sessions remember what feedback taught them, at once
    // Denoising-guided retrieval: how a completion chooses adapters again while it is written:
    // words (measured, on), off, or by uncertainty: entropy, confidence_gap, hybrid and adaptive.
    std::string dgr = std::string(kDgrByWords);
    // Feedback changes a session's relations to the patterns that served it. These relations change
    // the similarities in its next searches by at most 5 %.
    bool graph = false;
    // The router that chooses what requests leave open: off, logistic, fastgrnn or cascade. No
    // router was better than chance.
    std::string router = "off";
    // Protection of deep rounds against forgetting: replay, replay_kl, ewc, replay_ewc or
    // replay_kl_ewc
    std::string deep_guard = "replay_kl";
    // Number of timestep banks, each with a residual beside the adapter for all t; 0: no banks
    int deep_banks = 0;
    // Number of timestep banks of the global adapter; 1: one bank for all t. All nodes of a cluster
    // need equal values.
    int banks = 1;
    // How the contributions of a round become a step of the global adapter; all nodes of a cluster
    // need equal values. The rule that combines them: default (filtered_mean from five
    // contributions on, otherwise self_clip) or the name of a rule in federation/daf/robust_rules.h
    std::string aggregation = "default";
    // The optimiser that takes the step: auto (plain for deltas, adam for gradients), plain,
    // momentum or adam
    std::string outer = "auto";
    float prox = 0;  // FedProx: strength with which local steps stay near the global adapter
  } experimental;
};

// The origin of each value, for `ruvd config show --origin`: maps a key to "default", "file F",
// "env V" or "flag".
using ConfigOrigins = std::map<std::string, std::string>;

// Loads a configuration: a flag beats the environment, which beats the file, which beats the
// default. `file` may be empty. `environment` holds variables with their values; a variable without
// the prefix RUVD_ and "__" is ignored. `flags` holds keys with text values. `origins` may be null.
// An unknown key is UNKNOWN_CONFIG_KEY, and the error names the key that was probably meant; a
// value of the wrong type or out of range is CONFIG_INVALID, and the error names the range.
absl::StatusOr<NodeConfig> LoadConfig(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& environment,
    const std::vector<std::pair<std::string, std::string>>& flags, ConfigOrigins* origins);

// Checks what concerns several keys: missing required keys, and keys that contradict each other.
// CONFIG_INVALID names the key and what to set. LoadConfig does not call this, so that an
// incomplete configuration can be shown.
absl::Status CheckConfig(const NodeConfig& config);

// Returns the configuration as TOML with a comment per key; LoadConfig reads it back unchanged.
std::string ConfigToToml(const NodeConfig& config);

}  // namespace ruvd::config
