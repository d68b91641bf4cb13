#include <fmt/ostream.h>

#include <functional>
#include <map>

#include "ci/checks_table.h"
#include "ci/commands.h"
#include "ci/decision_table.h"
#include "ci/support_table.h"
#include "ci/table.h"
#include "ci/words.h"
#include "fuzz/case.h"
#include "fuzz/faults/fault.h"
#include "fuzz/models.h"

namespace assay {
namespace {

Table FaultsTable() {
  Table table({"fault", "class", "found by", "what it does"});
  for (const Fault& fault : Faults()) {
    table.Add({fault.name, fault.error_class, fault.check, fault.what});
  }
  return table;
}

Table FieldsTable() {
  Table table({"field", "default", "domain", "meaning"});
  for (const FieldInfo& field : CaseFields()) {
    table.Add({field.name, field.default_value, field.domain, field.meaning});
  }
  return table;
}

Table ModelsTable() {
  Table table({"model", "hidden x inter, top_k of experts", "router", "activation", "shared",
               "formats", "no case field yet"});
  for (const ModelInfo& model : ModelInfos()) {
    table.Add({model.name + (model.sure ? "" : " (unsure)"), model.shape, model.router,
               model.activation, model.shared, model.formats, model.undescribed});
  }
  return table;
}

std::string PathsText() {
  const std::string missing = NotBuiltText();
  return DecisionTable().Text() + (missing.empty() ? "" : "\n" + missing);
}

template <Table (*Make)()>
std::string TextOf() {
  return Make().Text();
}

const std::map<std::string, std::function<std::string()>>& Topics() {
  static const std::map<std::string, std::function<std::string()>> topics = {
      {"checks", TextOf<ChecksTable>}, {"faults", TextOf<FaultsTable>},
      {"fields", TextOf<FieldsTable>}, {"formats", TextOf<FormatsTable>},
      {"models", TextOf<ModelsTable>}, {"paths", PathsText},
      {"rules", TextOf<RulesTable>}};
  return topics;
}

}  // namespace

std::vector<std::string> ListTopics() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : Topics()) names.push_back(name);
  return names;
}

ExitCode RunList(const ListOptions& options, Console& console) {
  const auto found = Topics().find(options.what);
  if (found == Topics().end()) {
    std::string known;
    for (const std::string& name : ListTopics()) known += (known.empty() ? "" : ", ") + name;
    throw UsageError(fmt::format("there is no list of '{}': use one of {}", options.what, known));
  }
  if (options.matrix && options.what != "paths")
    throw UsageError(fmt::format("--matrix with '{}': only paths have one; use list paths --matrix",
                                 options.what));
  fmt::print(console.out, "{}",
             options.matrix ? SupportMatrixText(FromWord<MatrixFormat>("format", options.format))
                            : found->second());
  return ExitCode::kPass;
}

}  // namespace assay
