# Reads ctest's JUnit summary and, for the gtest programs it ran, their own XML under `gtest`.
# Prints: passed failed skipped. A program that died before it wrote its XML counts as one failure.
function attribute(text, name,    rest) {
  if (!match(text, "[ <]" name "=\"[^\"]*\"")) return ""
  rest = substr(text, RSTART, RLENGTH)
  sub("^.*=\"", "", rest)
  sub("\"$", "", rest)
  return rest
}

# Adds the cases of one gtest program; returns how many failed, or -1 without a file.
function add_gtest(file,    line, cases, bad, left_out) {
  cases = bad = left_out = 0
  if ((getline line < file) < 0) return -1
  do {
    if (line ~ /<testcase /) {
      cases++
      if (line ~ /status="notrun"/ || line ~ /result="s(kipped|uppressed)"/) left_out++
    }
    if (line ~ /<testsuites /) bad = attribute(line, "failures") + attribute(line, "errors")
  } while ((getline line < file) > 0)
  close(file)
  passed += cases - bad - left_out
  failed += bad
  skipped += left_out
  return bad
}

/<testcase / {
  name = attribute($0, "name")
  status = attribute($0, "status")
  bad = add_gtest(gtest "/" name "_test.xml")
  if (bad >= 0) {
    if (status == "fail" && bad == 0) failed++
  } else if (status == "run") {
    passed++
  } else if (status == "fail") {
    failed++
  } else {
    skipped++
  }
}

END { print passed + 0, failed + 0, skipped + 0 }
