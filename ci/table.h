// Rows of text in aligned columns, for a terminal or as Markdown.
#pragma once

#include <string>
#include <vector>

namespace assay {

class Table {
 public:
  explicit Table(std::vector<std::string> header);

  // Shorter rows are filled with empty cells.
  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }

  // Columns whose cells are all numbers are aligned to the right. `indent` spaces before a line.
  std::string Text(int indent = 0) const;
  // Pipes in cells are escaped, line breaks become spaces.
  std::string Markdown() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace assay
