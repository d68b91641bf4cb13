#include "reference/layer_json.h"

#include <algorithm>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "reference/error.h"

namespace assay {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

struct Rules {
  Json document = Json::parse(kLayerSchema);
  valijson::Schema schema;

  Rules() {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(Adapter(document), schema);
  }
};

const Rules& TheRules() {
  static const Rules rules;
  return rules;
}

// "[router]", "[3]" -> the names on the way to the value; the library's "<root>" stands for none.
std::vector<std::string> Names(const std::vector<std::string>& context) {
  std::vector<std::string> names;
  for (const std::string& step : context)
    if (step.size() >= 2 && step.front() == '[') names.push_back(step.substr(1, step.size() - 2));
  return names;
}

// A name may hold anything; a message is one line.
std::string OneLine(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return text.size() > 200 ? text.substr(0, 200) + "..." : text;
}

Json::json_pointer PointerTo(const std::vector<std::string>& names) {
  Json::json_pointer pointer;
  for (const std::string& name : names) pointer.push_back(name);
  return pointer;
}

// The part of the schema that speaks of the value; null if it says nothing of it.
Json PartFor(const std::vector<std::string>& names) {
  const Json* part = &TheRules().document;
  for (const std::string& name : names) {
    if (part->contains("items")) {
      part = &part->at("items");
    } else if (part->contains("properties") && part->at("properties").contains(name)) {
      part = &part->at("properties").at(name);
    } else {
      return nullptr;
    }
  }
  return *part;
}

bool Starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// Lines of the library that only say that a part below has failed.
bool IsSummary(const std::string& what) { return Starts(what, "Failed to validate against"); }

// The text between the first and the last quotation mark: the property that a message names.
std::string Quoted(const std::string& text) {
  const std::size_t first = text.find('\''), last = text.rfind('\'');
  return first == last ? text : text.substr(first + 1, last - first - 1);
}

std::string UnknownName(const std::string& message) {
  return Quoted(message.substr(message.rfind(": '")));
}

// What the schema demands of the value, in the words of its description.
std::string RuleOf(const std::vector<std::string>& names, const std::string& what) {
  if (Starts(what, "Failed to match expected")) return "the fields beside it demand another value";
  const Json part = PartFor(names);
  return part.is_object() ? part.value("description", what) : what;
}

bool IsWord(const std::string& what) {
  return Starts(what, "Failed to match against any enum") || Starts(what, "Failed to match regex");
}

LayerFault FaultOf(const Json& layer, const valijson::ValidationResults::Error& error) {
  const std::string& what = error.description;
  std::vector<std::string> names = Names(error.context);
  const bool missing = Starts(what, "Missing required");
  const bool unlisted = Starts(what, "Object contains a property");
  if (missing) names.push_back(Quoted(what));
  if (unlisted) names.push_back(UnknownName(what));
  const Json::json_pointer pointer = PointerTo(names);
  const Json* value = layer.contains(pointer) ? &layer.at(pointer) : nullptr;
  return {OneLine(pointer.to_string()), value == nullptr ? "absent" : ShortJson(*value),
          unlisted ? "no such name is known here" : RuleOf(names, what),
          value != nullptr && value->is_string() && IsWord(what)};
}

std::vector<LayerFault> SchemaFaults(const Json& layer) {
  valijson::Validator validator;
  valijson::ValidationResults results;
  validator.validate(TheRules().schema, Adapter(layer), &results);
  std::vector<LayerFault> faults;
  for (const auto& error : results)
    if (!IsSummary(error.description)) faults.push_back(FaultOf(layer, error));
  return faults;
}

void Demand(bool right, const char* pointer, const Json& value, const std::string& rule,
            std::vector<LayerFault>& faults) {
  if (!right) faults.push_back({pointer, ShortJson(value), rule, false});
}

// What a schema cannot say: how numbers of the description fit each other.
std::vector<LayerFault> RelationFaults(const Json& layer) {
  const Json& router = layer.at("router");
  const int experts = layer.at("num_experts"), zero = router.at("zero_expert_num");
  const int top_k = layer.at("top_k"), groups = router.at("n_group");
  std::vector<LayerFault> faults;
  Demand(top_k <= experts + zero, "/top_k", top_k,
         "at most the " + std::to_string(experts + zero) + " experts", faults);
  Demand(experts % groups == 0, "/router/n_group", groups,
         "divides the " + std::to_string(experts) + " experts", faults);
  const int kept = router.at("topk_group");
  Demand(kept <= groups, "/router/topk_group", kept,
         "at most the " + std::to_string(groups) + " groups", faults);
  return faults;
}

}  // namespace

std::string LayerFault::Text() const {
  return (pointer.empty() ? "the document" : pointer) + ": " + value + " breaks the rule: " + rule;
}

std::vector<LayerFault> LayerFaults(const Json& layer) {
  std::vector<LayerFault> faults = SchemaFaults(layer);
  return faults.empty() ? RelationFaults(layer) : faults;
}

void RequireLayer(const Json& layer, const std::string& name) {
  const std::vector<LayerFault> faults = LayerFaults(layer);
  if (!faults.empty()) throw UsageError(name + ": " + faults.front().Text());
}

}  // namespace assay
