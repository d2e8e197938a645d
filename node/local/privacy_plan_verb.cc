// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd privacy plan`: predicts what signal a round of private learning keeps, before there is one.

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "federation/learner/local_round.h"
#include "federation/learner/privacy_plan.h"
#include "node/config/config.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/limits.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using privacy::PrivacyUnit;

struct PlanFlags {
  std::string unit = "lesson";
  uint64_t lessons = 0;
  uint64_t users = 0;
  uint64_t nodes = 6;
  uint64_t values = 3584;
  uint64_t batch = 512;
  std::string tier = "masked";
  double epsilon = 8;
  double delta = 1e-6;
  uint32_t rounds = 20;
  double signal = 0.09;
  double clip_norm = config::NodeConfig().privacy.clip_norm;
  double cluster_noise = config::NodeConfig().privacy.noise;
};

// Returns what a round hides. `--users` says that it is a user, so no `--unit` is needed with it.
absl::StatusOr<PrivacyUnit> UnitOf(const PlanFlags& flags) {
  const std::optional<PrivacyUnit> unit = privacy::UnitByName(flags.unit);
  if (!unit) {
    return UsageError(fmt::format("--unit is {}; give lesson, user or node", flags.unit));
  }
  if (*unit == PrivacyUnit::kNode && flags.users > 0) {
    return UsageError(
        "--users is given beside --unit node, which hides all users at once; leave "
        "one of them out");
  }
  if (*unit == PrivacyUnit::kUser && flags.users == 0) {
    return UsageError("--unit is user; give with --users how many users the lessons belong to");
  }
  return flags.users > 0 ? PrivacyUnit::kUser : *unit;
}

// Returns how many units the lessons make, as a number that may be known.
size_t UnitsOf(const PlanFlags& flags, PrivacyUnit unit) {
  switch (unit) {
    case PrivacyUnit::kLesson:
      break;
    case PrivacyUnit::kUser:
      return federation::PublicUnits(flags.users);
    case PrivacyUnit::kNode:
      return 1;
  }
  return federation::PublicUnits(flags.lessons);
}

double LessonsEach(const PlanFlags& flags, PrivacyUnit unit) {
  switch (unit) {
    case PrivacyUnit::kLesson:
      break;
    case PrivacyUnit::kUser:
      return static_cast<double>(flags.lessons) / static_cast<double>(flags.users);
    case PrivacyUnit::kNode:
      return static_cast<double>(federation::PublicUnits(flags.lessons));
  }
  return 1;
}

absl::StatusOr<federation::PrivacyRequest> RequestOf(const PlanFlags& flags) {
  if (flags.tier != "masked" && flags.tier != "dp") {
    return UsageError(fmt::format("--tier is {}; give masked or dp", flags.tier));
  }
  if (flags.users > flags.lessons) {
    return UsageError(
        fmt::format("--users is {}, more than the {} lessons; give the users that have "
                    "lessons",
                    flags.users, flags.lessons));
  }
  ASSIGN_OR_RETURN(const PrivacyUnit unit, UnitOf(flags));
  return federation::PrivacyRequest{
      .budget = {.unit = unit,
                 .epsilon = flags.epsilon,
                 .delta = flags.delta,
                 .rounds = flags.rounds},
      .masked = flags.tier == "masked",
      .nodes = flags.nodes,
      .units = UnitsOf(flags, unit),
      .dimension = flags.values,
      .clip_norm = flags.clip_norm,
      .signal = federation::SignalOf(LessonsEach(flags, unit), flags.signal),
      .max_batch = flags.batch};
}

void Write(const federation::PrivacyPlan& plan, const federation::PlanAlternatives& more,
           report::v1::PrivacyPlanReport* report) {
  report->set_sampling_rate(plan.sampling_rate);
  report->set_expected_batch(plan.expected_batch);
  report->set_noise_multiplier(plan.noise_multiplier);
  report->set_epsilon(plan.epsilon);
  report->set_snr_of_round(plan.snr_round);
  report->set_snr(plan.snr_run);
  report->set_snr_of_twice_lessons(more.twice_units);
  report->set_snr_of_one_node_more(more.one_node_more);
  report->set_snr_of_twice_rounds(more.twice_rounds);
  report->set_snr_of_half_rank(more.half_rank);
}

void WriteAtNoise(double noise, const absl::StatusOr<federation::PrivacyPlan>& plan,
                  report::v1::PlanAtNoise* report) {
  report->set_noise(noise);
  if (!plan.ok()) {
    report->set_refusal(MessageOf(plan.status()));
    return;
  }
  report->set_sampling_rate(plan->sampling_rate);
  report->set_expected_batch(plan->expected_batch);
  report->set_epsilon(plan->epsilon);
  report->set_snr(plan->snr_run);
}

std::string SnrText(double snr) {
  return snr == 0 ? "no plan" : fmt::format("SNR {:.3g}", snr);
}

std::string AtNoiseText(const report::v1::PrivacyPlanReport& report) {
  const report::v1::PlanAtNoise& at = report.at_cluster_noise();
  if (!at.refusal().empty()) {
    return at.refusal();
  }
  return fmt::format("samples of {:.4g} (rate {:.4g}), epsilon {:.3f}, SNR {:.3g}",
                     at.expected_batch(), at.sampling_rate(), at.epsilon(), at.snr());
}

// Says what takes part and how much of it a sample has.
std::pair<std::string, std::string> SampleField(const report::v1::PrivacyPlanReport& report) {
  if (report.unit() == privacy::UnitName(PrivacyUnit::kNode)) {
    return {"node", fmt::format("{} lessons, of which a round's sample has at most {}, or none "
                                "(rate {:.4g})",
                                report.lessons(), limits::kMaxUnitLessons, report.sampling_rate())};
  }
  const bool by_user = report.users() > 0;
  return {report.unit() + "s",
          fmt::format("{}{}, of which {:.4g} are in a round's sample in the mean (rate {:.4g})",
                      by_user ? report.users() : report.lessons(),
                      by_user ? fmt::format(" with {} lessons", report.lessons()) : "",
                      report.expected_batch(), report.sampling_rate())};
}

std::string Text(const report::v1::PrivacyPlanReport& report) {
  std::vector<std::pair<std::string, std::string>> fields = {
      SampleField(report),
      {"noise", fmt::format("multiplier {:.4g} of what is revealed", report.noise_multiplier())},
      {"epsilon", fmt::format("{:.3f} at delta {:.1e} for a {} after {} rounds", report.epsilon(),
                              report.delta(), report.unit(), report.rounds())},
      {"predicted", fmt::format("SNR {:.3g} after all rounds, {:.3g} of one round; {:g} is least",
                                report.snr(), report.snr_of_round(), limits::kMinReleaseSnr)}};
  if (report.unit() != privacy::UnitName(PrivacyUnit::kNode)) {
    fields.emplace_back(fmt::format("twice the {}s", report.unit()),
                        SnrText(report.snr_of_twice_lessons()));
  }
  fields.insert(fields.end(),
                {{"one node more", SnrText(report.snr_of_one_node_more())},
                 {"twice the rounds", SnrText(report.snr_of_twice_rounds())},
                 {"half the rank", SnrText(report.snr_of_half_rank())},
                 {fmt::format("privacy.noise = {:g}", report.at_cluster_noise().noise()),
                  AtNoiseText(report)}});
  return FormatFields(fields);
}

absl::Status ShowPlan(CommandContext& context, const PlanFlags& flags) {
  ASSIGN_OR_RETURN(const federation::PrivacyRequest request, RequestOf(flags));
  report::v1::PrivacyPlanReport report;
  report.set_tier(flags.tier);
  report.set_nodes(flags.nodes);
  report.set_lessons(federation::PublicUnits(flags.lessons));
  report.set_users(flags.users > 0 ? request.units : 0);
  report.set_unit(std::string(privacy::UnitName(request.budget.unit)));
  report.set_values(flags.values);
  report.set_rounds(flags.rounds);
  report.set_delta(flags.delta);
  ASSIGN_OR_RETURN(const federation::PrivacyPlan plan, federation::MakePrivacyPlan(request));
  ASSIGN_OR_RETURN(const federation::PlanAlternatives more, federation::Alternatives(request));
  Write(plan, more, &report);
  WriteAtNoise(flags.cluster_noise, federation::PlanAtNoise(request, flags.cluster_noise),
               report.mutable_at_cluster_noise());
  context.out << (context.json ? ToJsonLine(report) : Text(report));
  return absl::OkStatus();
}

}  // namespace

void AddPrivacyPlanVerb(VerbTable& verbs) {
  auto flags = std::make_shared<PlanFlags>();
  Verb plan = verbs.Add("privacy plan", "Privacy",
                        "Predict the signal that private learning in rounds would keep",
                        [flags](CommandContext& context) { return ShowPlan(context, *flags); });
  plan.Option("--lessons", flags->lessons, "Lessons of each node that may take part").Required();
  plan.Option("--unit", flags->unit,
              "What a round hides (privacy.unit): lesson, user with --users, or the whole node")
      .ShowDefault();
  plan.Option("--users", flags->users,
              "Users of each node whose lessons these are, if privacy.unit is user; 0: it is not")
      .ShowDefault();
  plan.Option("--nodes", flags->nodes, "Nodes that take part").ShowDefault();
  plan.Option("--tier", flags->tier, "masked: only the sum of all nodes is seen; dp: that of each")
      .ShowDefault();
  plan.Option("--epsilon", flags->epsilon, "What one unit may spend in all its rounds")
      .ShowDefault();
  plan.Option("--delta", flags->delta, "Delta of that epsilon").ShowDefault();
  plan.Option("--rounds", flags->rounds, "Rounds that one unit takes part in").ShowDefault();
  plan.Option("--values", flags->values,
              "Values that are shared: 1792 are ruvdllm-5m and 3584 ruvdllm-29m at rank 8")
      .ShowDefault();
  plan.Option("--batch", flags->batch, "Most units in a sample that a node can compute")
      .ShowDefault();
  plan.Option("--signal", flags->signal,
              "Norm of the mean clipped gradient of lessons over the clip norm")
      .ShowDefault();
  plan.Option("--clip-norm", flags->clip_norm, "Clip norm of the gradient of a unit").ShowDefault();
  plan.Option("--cluster-noise", flags->cluster_noise,
              "Noise that the cluster agreed on (privacy.noise): the last line predicts how a node "
              "takes part there")
      .ShowDefault();
}

}  // namespace ruvd::cli
