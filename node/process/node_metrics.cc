// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/node_metrics.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ruvd::node {
namespace {

void AddCacheMetrics(inference::PrefixTree& prefixes, metrics::Metrics* metrics) {
  using Read = double (*)(const inference::PrefixTree::Stats&, const inference::KvPool::Usage&);
  const auto add = [&prefixes, metrics](std::string name, std::string help, bool counter,
                                        Read read) {
    metrics->AddReader(std::move(name), std::move(help), "", counter, [&prefixes, read] {
      return std::vector<metrics::Metrics::Sample>{
          {"", read(prefixes.stats(), prefixes.pool()->usage())}};
    });
  };
  add("ruvd_kv_bytes", "Memory of keys and values in use", false,
      [](const auto&, const auto& usage) { return static_cast<double>(usage.bytes); });
  add("ruvd_kv_budget_bytes", "Memory that keys and values may use", false,
      [](const auto&, const auto& usage) { return static_cast<double>(usage.budget_bytes); });
  add("ruvd_kv_shared_pages", "Pages of 16 tokens with more than one holder", false,
      [](const auto&, const auto& usage) { return static_cast<double>(usage.shared_pages); });
  add("ruvd_prefix_lookups_total", "Prefixes that were searched for", true,
      [](const auto& stats, const auto&) { return static_cast<double>(stats.lookups); });
  add("ruvd_prefix_hits_total", "Prefixes with at least one token that was found", true,
      [](const auto& stats, const auto&) { return static_cast<double>(stats.hits); });
  add("ruvd_prefix_reused_tokens_total", "Tokens that were not computed again", true,
      [](const auto& stats, const auto&) { return static_cast<double>(stats.reused_tokens); });
  add("ruvd_prefix_evicted_pages_total", "Pages that were evicted", true,
      [](const auto& stats, const auto&) { return static_cast<double>(stats.evicted_pages); });
}

void AddThrottleMetrics(const learning::LearningThrottle& throttle, metrics::Metrics* metrics) {
  using Read = double (*)(const learning::LearningThrottleStatus&);
  const auto add = [&throttle, metrics](std::string name, std::string help, bool counter,
                                        Read read) {
    metrics->AddReader(std::move(name), std::move(help), "", counter, [&throttle, read] {
      return std::vector<metrics::Metrics::Sample>{{"", read(throttle.status())}};
    });
  };
  add("ruvd_learning_paused_seconds_total", "Time that learning waited for serving", true,
      [](const auto& status) { return status.paused_seconds; });
  add("ruvd_learning_pauses_total", "Times that learning waited for serving", true,
      [](const auto& status) { return static_cast<double>(status.pauses); });
  add("ruvd_learning_step_p99_seconds",
      "99th percentile of step times during learning; 0: too few steps", false,
      [](const auto& status) { return status.p99_learning; });
  add("ruvd_learning_step_p99_without_seconds",
      "99th percentile of step times without learning; 0: too few steps", false,
      [](const auto& status) { return status.p99_without; });
  add("ruvd_learning_bytes", "Memory that training holds", false,
      [](const auto& status) { return static_cast<double>(status.memory_bytes); });
}

void AddLedgerMetrics(const storage::PrivacyLedgerStore& ledger, double delta,
                      metrics::Metrics* metrics) {
  const auto of_units = [&ledger](auto read) {
    return [&ledger, read] {
      std::vector<metrics::Metrics::Sample> samples;
      for (const privacy::PrivacyUnit unit : privacy::kPrivacyUnits) {
        samples.push_back({std::string(privacy::UnitName(unit)), read(ledger, unit)});
      }
      return samples;
    };
  };
  metrics->AddReader("ruvd_privacy_epsilon_spent",
                     "The most epsilon, at privacy.delta, that any one unit has spent", "unit",
                     false, of_units([delta](const auto& store, privacy::PrivacyUnit unit) {
                       return store.LargestEpsilon(unit, delta).value_or(-1);
                     }));
  metrics->AddReader("ruvd_privacy_releases_total",
                     "Releases with noise that were charged since the store was made", "unit", true,
                     of_units([](const auto& store, privacy::PrivacyUnit unit) {
                       return static_cast<double>(store.totals(unit).reservations);
                     }));
}

void AddPeerMetrics(const sharing::PeerCounters& peers, metrics::Metrics* metrics) {
  metrics->AddReader("ruvd_peer_patterns", "Patterns of peers in the store, by what they may do",
                     "standing", false, [&peers] {
                       const auto standings = peers.Get().standings;
                       double serving = 0;
                       double trial = 0;
                       double refused = 0;
                       double no_adapter = 0;
                       for (const auto& [standing, count] : standings) {
                         (storage::Serves(standing)                          ? serving
                          : storage::IsRefused(standing)                     ? refused
                          : standing == storage::PatternStanding::kNoAdapter ? no_adapter
                                                                             : trial) +=
                             static_cast<double>(count);
                       }
                       return std::vector<metrics::Metrics::Sample>{{"serving", serving},
                                                                    {"trial", trial},
                                                                    {"refused", refused},
                                                                    {"no_adapter", no_adapter}};
                     });
  const auto by_reason = [](const std::map<std::string, uint64_t>& refused) {
    std::vector<metrics::Metrics::Sample> samples;
    for (const auto& [reason, count] : refused) {
      samples.push_back({reason, static_cast<double>(count)});
    }
    return samples;
  };
  metrics->AddReader("ruvd_peer_patterns_refused_total", "Patterns of peers that were refused",
                     "reason", true,
                     [&peers, by_reason] { return by_reason(peers.Get().refused); });
  metrics->AddReader("ruvd_peer_messages_refused_total",
                     "Frames, items and links of peers that were refused or put off", "reason",
                     true, [&peers, by_reason] { return by_reason(peers.Get().refused_messages); });
}

void AddHttpMetrics(const http::Server& server, metrics::Metrics* metrics) {
  metrics->AddReader("ruvd_http_connections", "Open connections of the HTTP API", "", false,
                     [&server] {
                       return std::vector<metrics::Metrics::Sample>{
                           {"", static_cast<double>(server.acceptor().counts().connections)}};
                     });
  metrics->AddReader("ruvd_http_ended_total",
                     "Connections of the HTTP API that ended before their request was answered",
                     "reason", true, [&server] {
                       const http::Server::Counts counts = server.counts();
                       std::vector<metrics::Metrics::Sample> samples;
                       for (size_t i = 0; i < counts.ended.size(); ++i) {
                         const auto reason = static_cast<http::RequestEnd>(i);
                         samples.push_back({std::string(http::RequestEndName(reason)),
                                            static_cast<double>(counts.ended[i])});
                       }
                       return samples;
                     });
}

void AddLimitMetrics(const LimitRegistry& limits, metrics::Metrics* metrics) {
  const auto read = [&limits](uint64_t LimitUse::* number) {
    return [&limits, number] {
      std::vector<metrics::Metrics::Sample> samples;
      for (const LimitUse& limit : limits.Read()) {
        samples.push_back({std::string(limit.name), static_cast<double>(limit.*number)});
      }
      return samples;
    };
  };
  metrics->AddReader("ruvd_limit_used", "What is in use of a limit that protects the node", "limit",
                     false, read(&LimitUse::used));
  metrics->AddReader("ruvd_limit_refused_total",
                     "What a limit refused, ended, displaced or put off", "limit", true,
                     read(&LimitUse::refused));
}

void AddResourceMetrics(const std::function<ResourceUse()>& resources, metrics::Metrics* metrics) {
  const auto add = [&](std::string name, std::string help, bool counter,
                       uint64_t ResourceUse::* number) {
    metrics->AddReader(std::move(name), std::move(help), "", counter, [resources, number] {
      return std::vector<metrics::Metrics::Sample>{{"", static_cast<double>(resources().*number)}};
    });
  };
  add("ruvd_descriptors", "Open descriptors of the process", false, &ResourceUse::descriptors);
  add("ruvd_threads", "Threads of the process", false, &ResourceUse::threads);
  add("ruvd_link_bytes_in_total", "Bytes of messages from other nodes", true,
      &ResourceUse::link_bytes_in);
  add("ruvd_link_bytes_out_total", "Bytes of messages to other nodes", true,
      &ResourceUse::link_bytes_out);
  add("ruvd_peer_commits_total", "Commits to disk that items of other nodes caused", true,
      &ResourceUse::peer_commits);
}

}  // namespace

uint64_t DeadLetterTotal(const runtime::ActorSystem& actors) {
  uint64_t total = 0;
  for (size_t reason = 0; reason < runtime::kDeadLetterReasons; ++reason) {
    total += actors.dead_letters().count(static_cast<runtime::DeadLetterReason>(reason));
  }
  return total;
}

void AddNodeMetrics(const MetricSources& sources, metrics::Metrics* metrics) {
  AddCacheMetrics(*sources.prefixes, metrics);
  AddThrottleMetrics(*sources.throttle, metrics);
  if (sources.http != nullptr) {
    AddHttpMetrics(*sources.http, metrics);
  }
  if (sources.peers != nullptr) {
    AddPeerMetrics(*sources.peers, metrics);
  }
  AddLimitMetrics(*sources.limits, metrics);
  AddResourceMetrics(sources.resources, metrics);
  if (sources.ledger != nullptr) {
    AddLedgerMetrics(*sources.ledger, sources.delta, metrics);
  }
  metrics->AddReader(
      "ruvd_patterns", "Patterns in the store", "", false, [&patterns = *sources.patterns] {
        return std::vector<metrics::Metrics::Sample>{{"", static_cast<double>(patterns.size())}};
      });
  metrics->AddReader("ruvd_patterns_pending", "Patterns that are not in the graph yet", "", false,
                     [&patterns = *sources.patterns] {
                       return std::vector<metrics::Metrics::Sample>{
                           {"", static_cast<double>(patterns.Stats().pending)}};
                     });
  metrics->AddReader("ruvd_requests_running", "Requests waiting or running", "", false,
                     [&inference = *sources.inference] {
                       return std::vector<metrics::Metrics::Sample>{
                           {"", static_cast<double>(inference.running())}};
                     });
  metrics->AddReader(
      "ruvd_dead_letters_total", "Messages between actors that were lost", "reason", true,
      [&actors = *sources.actors] {
        std::vector<metrics::Metrics::Sample> samples;
        for (size_t i = 0; i < runtime::kDeadLetterReasons; ++i) {
          const auto reason = static_cast<runtime::DeadLetterReason>(i);
          samples.push_back({std::string(runtime::DeadLetterReasonName(reason)),
                             static_cast<double>(actors.dead_letters().count(reason))});
        }
        return samples;
      });
  metrics->AddReader("ruvd_part_works", "1 if a part of the node works, 0 if it does not", "part",
                     false, [parts = sources.parts] {
                       std::vector<metrics::Metrics::Sample> samples;
                       for (const PartHealth& part : parts()) {
                         samples.push_back({part.name, part.problem.empty() ? 1.0 : 0.0});
                       }
                       return samples;
                     });
  metrics->AddReader("ruvd_patterns_removed_total", "Patterns that expired or were evicted",
                     "cause", true, [&patterns = *sources.patterns] {
                       const storage::PatternStoreStats stats = patterns.Stats();
                       return std::vector<metrics::Metrics::Sample>{
                           {"expired", static_cast<double>(stats.expired)},
                           {"evicted", static_cast<double>(stats.evicted)}};
                     });
  metrics->AddReader("ruvd_patterns_damaged", "Patterns with rows that cannot be read", "", false,
                     [&patterns = *sources.patterns] {
                       return std::vector<metrics::Metrics::Sample>{
                           {"", static_cast<double>(patterns.Stats().damaged)}};
                     });
}

}  // namespace ruvd::node
