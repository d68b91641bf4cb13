#include "ci/table.h"

#include <algorithm>

namespace assay {
namespace {

bool IsNumber(const std::string& cell) {
  return cell.find_first_not_of("0123456789.,-+%e x") == std::string::npos;
}

std::size_t Width(const std::vector<std::vector<std::string>>& rows, const std::string& header,
                  std::size_t column) {
  std::size_t width = header.size();
  for (const auto& row : rows) width = std::max(width, row[column].size());
  return width;
}

bool AllNumbers(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const auto& row) { return IsNumber(row[column]); });
}

std::string Padded(const std::string& cell, std::size_t width, bool right) {
  const std::string fill(width - cell.size(), ' ');
  return right ? fill + cell : cell + fill;
}

std::string MarkdownCell(const std::string& cell) {
  std::string escaped;
  for (char c : cell) {
    if (c == '|' || c == '\\') escaped += '\\';
    escaped += c == '\n' || c == '\r' ? ' ' : c;
  }
  return escaped;
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + MarkdownCell(cell) + " |";
  return line + "\n";
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::Add(std::vector<std::string> row) {
  row.resize(header_.size());
  rows_.push_back(std::move(row));
}

std::string Table::Text(int indent) const {
  std::vector<std::vector<std::string>> lines = {header_};
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::string text;
  for (const auto& line : lines) {
    std::string shown(static_cast<std::size_t>(indent), ' ');
    for (std::size_t column = 0; column < header_.size(); ++column) {
      if (column > 0) shown += "  ";
      shown +=
          Padded(line[column], Width(rows_, header_[column], column), AllNumbers(rows_, column));
    }
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

std::string Table::Markdown() const {
  std::string text = MarkdownRow(header_) + "|";
  for (std::size_t column = 0; column < header_.size(); ++column) {
    text += AllNumbers(rows_, column) ? " ---: |" : " --- |";
  }
  text += "\n";
  for (const auto& row : rows_) text += MarkdownRow(row);
  return text;
}

}  // namespace assay
