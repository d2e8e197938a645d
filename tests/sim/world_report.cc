// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/world_report.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::test {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  Measures measures;
  std::map<std::string, uint64_t> faults;
  uint64_t violations = 0;
  uint64_t events = 0;
  uint64_t frames = 0;
  uint64_t links = 0;
  std::map<std::string, NetworkCounters::Kind> kinds;  // by name, of what was sent
  double simulated_s = 0;
  double node_hours = 0;
  Histogram settled;
  uint64_t trace_hash = 0;
};

// Returns the name of the field of WireFrame.
std::string FrameKindName(int number) {
  const auto* field = federation::v1::WireFrame::descriptor()->FindFieldByNumber(number);
  return field == nullptr ? "none" : field->name();
}

Totals TotalsOf(const Summary& summary) {
  Totals totals;
  for (const WorldReport& run : summary.runs) {
    totals.measures.Merge(run.measures);
    for (const auto& [kind, count] : run.faults) {
      totals.faults[kind] += count;
    }
    totals.violations += run.violations.size();
    totals.events += run.events;
    totals.frames += run.network.frames;
    totals.links += run.network.links;
    for (size_t kind = 0; kind < run.network.kinds.size(); ++kind) {
      if (const NetworkCounters::Kind& sent = run.network.kinds[kind]; sent.frames > 0) {
        NetworkCounters::Kind& total = totals.kinds[FrameKindName(static_cast<int>(kind))];
        total.frames += sent.frames;
        total.bytes += sent.bytes;
      }
    }
    totals.simulated_s += run.simulated_s;
    totals.node_hours += run.node_hours;
    if (run.settled_s) {
      totals.settled.Add(*run.settled_s);
    }
    totals.trace_hash = totals.trace_hash * 31 + run.trace_hash;
  }
  return totals;
}

double Ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

double Delivered(const Measures& measures) {
  return Ratio(static_cast<double>(measures.deliveries),
               static_cast<double>(measures.due_deliveries));
}

double Copies(const Measures& measures) {
  return Ratio(static_cast<double>(measures.payload_bytes_received),
               static_cast<double>(measures.delivered_bytes));
}

Json QuantilesOf(const Histogram& histogram) {
  return {{"count", histogram.count()},
          {"p50_s", histogram.Quantile(0.5)},
          {"p99_s", histogram.Quantile(0.99)}};
}

std::string Hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

Json ViolationsOf(const Summary& summary) {
  Json list = Json::array();
  for (const WorldReport& run : summary.runs) {
    for (const Violation& violation : run.violations) {
      list.push_back(
          {{"seed", run.seed}, {"invariant", violation.invariant}, {"detail", violation.detail}});
    }
  }
  return list;
}

Json RunsOf(const Summary& summary) {
  Json list = Json::array();
  for (const WorldReport& run : summary.runs) {
    Json entry = {{"seed", run.seed},
                  {"loss", run.loss},
                  {"options", run.options},
                  {"violations", run.violations.size()},
                  {"delivery", Delivered(run.measures)},
                  {"copies", Copies(run.measures)},
                  {"settled_s", nullptr},
                  {"trace_hash", Hex(run.trace_hash)}};
    if (run.settled_s) {
      entry["settled_s"] = *run.settled_s;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json KindsOf(const Totals& totals) {
  Json kinds = Json::object();
  for (const auto& [name, sent] : totals.kinds) {
    kinds[name] = {{"frames", sent.frames}, {"bytes", sent.bytes}};
  }
  return kinds;
}

std::string Row(std::string_view name, const std::string& value) {
  return fmt::format("{:<32} {}\n", name, value);
}

std::string RowOf(std::string_view name, const Histogram& histogram) {
  return Row(name,
             histogram.count() == 0
                 ? "none"
                 : fmt::format("p50 {:.3g} s, p99 {:.3g} s ({} times)", histogram.Quantile(0.5),
                               histogram.Quantile(0.99), histogram.count()));
}

std::string ListOf(const std::map<std::string, uint64_t>& counts) {
  std::string list;
  for (const auto& [kind, count] : counts) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", kind, count);
  }
  return list.empty() ? "none" : list;
}

}  // namespace

std::string ReproductionCommand(const WorldOptions& options, uint64_t seed) {
  std::string command = fmt::format("world --nodes {0} --seeds {1}..{1} --hours {2}", options.nodes,
                                    seed, options.hours);
  if (options.contacts != WorldOptions().contacts) {
    command += fmt::format(" --contacts {}", options.contacts);
  }
  if (options.undialable > 0) {
    command += fmt::format(" --undialable {}", options.undialable);
  }
  if (options.established) {
    command += " --established";
  }
  if (options.learning) {
    command += *options.learning ? " --learning" : " --no-learning";
  }
  if (options.masked) {
    command += *options.masked ? " --masked" : " --no-masked";
  }
  if (options.items) {
    command += fmt::format(" --items {}", *options.items);
  }
  if (options.loss) {
    command += fmt::format(" --loss {}", *options.loss);
  }
  if (options.faults) {
    std::string list;
    for (const Fault fault : *options.faults) {
      list += fmt::format("{}{}", list.empty() ? "" : ",", FaultName(fault));
    }
    command += " --faults " + (list.empty() ? "none" : list);
  }
  if (options.byzantine && options.byzantine->empty()) {
    command += " --byzantine none";
  } else if (options.byzantine) {
    for (const ByzantineShare& entry : *options.byzantine) {
      command += fmt::format(" --byzantine {}:{}", AdversaryName(entry.kind), entry.share);
    }
  }
  return command;
}

std::string ToJson(const Summary& summary) {
  const Totals totals = TotalsOf(summary);
  const Measures& measures = totals.measures;
  const Json json = {
      {"nodes", summary.nodes},
      {"seeds", summary.runs.size()},
      {"faults", totals.faults},
      {"violations", totals.violations},
      {"violation_list", ViolationsOf(summary)},
      {"delivery",
       {{"offered", measures.offered},
        {"acknowledged", measures.acknowledged},
        {"delivered", measures.deliveries},
        {"due", measures.due_deliveries},
        {"ratio", Delivered(measures)},
        {"latency", QuantilesOf(measures.delivery)}}},
      {"copies_per_delivery", Copies(measures)},
      {"accepted_byzantine_items", measures.accepted_byzantine},
      {"detection",
       {{"suspect", QuantilesOf(measures.suspicion)}, {"dead", QuantilesOf(measures.death)}}},
      {"false_suspicions", measures.false_suspicions},
      {"false_deaths", measures.false_deaths},
      {"graylisted", measures.graylisted},
      {"node_hours", totals.node_hours},
      {"heal", QuantilesOf(measures.heal)},
      {"settle", QuantilesOf(totals.settled)},
      {"rounds",
       {{"states_settled", measures.states_settled},
        {"states_taken", measures.states_taken},
        {"noised_contributions", measures.noised},
        {"masked_shares", measures.masked_shares},
        {"masked_in_sums", measures.masked_in_sums},
        {"masked_sums", measures.masked_sums},
        {"withdrawn", measures.withdrawn}}},
      {"adapter_error",
       {{"worlds", measures.adapter_error.count()},
        {"p50", measures.adapter_error.Quantile(0.5)},
        {"max", measures.adapter_error.Quantile(1)}}},
      {"refused", measures.refused},
      {"refused_between_honest", measures.refused_honest},
      {"refused_between_honest_first", measures.refused_honest_first},
      {"memory",
       {{"rss_bytes", summary.cost.rss_bytes}, {"bytes_per_node", summary.cost.node_rss_bytes}}},
      {"simulated_s", totals.simulated_s},
      {"events", totals.events},
      {"frames", totals.frames},
      {"frames_by_kind", KindsOf(totals)},
      {"links", totals.links},
      {"cpu_s", summary.cost.cpu_s},
      {"events_per_s", Ratio(static_cast<double>(totals.events), summary.cost.cpu_s)},
      {"signature_checks",
       {{"asked", summary.cost.signatures_asked},
        {"computed", summary.cost.signatures_computed},
        {"simulated", summary.simulated_signatures}}},
      {"trace_hash", Hex(totals.trace_hash)},
      {"runs", RunsOf(summary)}};
  return json.dump() + "\n";
}

std::string ToTable(const Summary& summary) {
  const Totals totals = TotalsOf(summary);
  const Measures& measures = totals.measures;
  constexpr double kMiB = 1024.0 * 1024.0;
  std::string out;
  out += Row("nodes, seeds", fmt::format("{}, {}", summary.nodes, summary.runs.size()));
  out += Row("faults injected", ListOf(totals.faults));
  out += Row("violations", fmt::format("{}", totals.violations));
  out += Row("items offered, acknowledged",
             fmt::format("{}, {}", measures.offered, measures.acknowledged));
  out += Row("deliveries", fmt::format("{} of {} ({:.3f} %)", measures.deliveries,
                                       measures.due_deliveries, 100 * Delivered(measures)));
  out += RowOf("delivery", measures.delivery);
  out += Row("payload copies per delivery", fmt::format("{:.3f}", Copies(measures)));
  out += RowOf("crash to suspect", measures.suspicion);
  out += RowOf("crash to dead", measures.death);
  out += Row("false suspicions, deaths",
             fmt::format("{}, {} in {:.1f} node-hours", measures.false_suspicions,
                         measures.false_deaths, totals.node_hours));
  out += RowOf("heal to equal items", measures.heal);
  out += RowOf("last fault to settled", totals.settled);
  if (measures.adapter_error.count() > 0) {
    out += Row("states settled, taken",
               fmt::format("{}, {}", measures.states_settled, measures.states_taken));
    out += Row("contributions with noise", fmt::format("{}", measures.noised));
    out += Row("masked shares, in sums, sums",
               fmt::format("{}, {}, {}", measures.masked_shares, measures.masked_in_sums,
                           measures.masked_sums));
    out +=
        Row("error of learned adapters",
            fmt::format("p50 {:.3f}, max {:.3f} ({} worlds)", measures.adapter_error.Quantile(0.5),
                        measures.adapter_error.Quantile(1), measures.adapter_error.count()));
  }
  out += Row("liars kept out at the end", fmt::format("{} (node, liar)", measures.graylisted));
  out += Row("refused from Byzantine nodes", ListOf(measures.refused));
  out += Row("refused between honest nodes", ListOf(measures.refused_honest));
  for (const auto& [reason, first] : measures.refused_honest_first) {
    out += Row("  first " + reason, first);
  }
  out += Row("memory", fmt::format("{:.1f} MiB, {:.1f} KiB a node",
                                   static_cast<double>(summary.cost.rss_bytes) / kMiB,
                                   static_cast<double>(summary.cost.node_rss_bytes) / 1024));
  out += Row("events, frames", fmt::format("{}, {}", totals.events, totals.frames));
  out += Row(
      "simulated, CPU",
      fmt::format("{:.1f} s, {:.2f} s ({:.0f} events/s)", totals.simulated_s, summary.cost.cpu_s,
                  Ratio(static_cast<double>(totals.events), summary.cost.cpu_s)));
  out += Row("signature checks", fmt::format("{} asked, {} computed", summary.cost.signatures_asked,
                                             summary.cost.signatures_computed));
  out += Row("trace hash", Hex(totals.trace_hash));
  return out;
}

}  // namespace ruvd::test
