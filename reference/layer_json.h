// The description of one layer as a JSON document: the fields of cases.json, published as
// layer.schema.json (draft-07) and checked by it.
#pragma once

#include <string>
#include <vector>

#include "reference/json_document.h"

namespace assay {

// The text of layer.schema.json, compiled in.
extern const char kLayerSchema[];

// One rule that a description breaks.
struct LayerFault {
  std::string pointer;   // JSON pointer of the value, "" for the document
  std::string value;     // short
  std::string rule;      // what the schema demands there
  bool unknown = false;  // a word that the schema does not list, where it lists words

  std::string Text() const;  // "/router/scoring: \"entmax\" breaks the rule: scoring: one of ..."
};

// Every rule that the description breaks, in the order of the document; empty: it is a layer.
std::vector<LayerFault> LayerFaults(const Json& layer);

// Throws UsageError with the first fault; `name` says whose description it is.
void RequireLayer(const Json& layer, const std::string& name);

}  // namespace assay
