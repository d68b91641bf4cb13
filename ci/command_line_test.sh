#!/usr/bin/env bash
# Runs the built command as a user would: exit codes, one-line errors, last lines.
#   command_line_test.sh ASSAY
set -uo pipefail
assay=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
good='path=batched format=nvfp4 layout=row_major rows=1 hidden=32 inter=32 experts=4 top_k=2'
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

run() {
  status=0
  "$assay" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# error CODE WORDS ARG...: the exit code, and one line on stderr that holds WORDS.
error() {
  local code=$1 words=$2
  shift 2
  run "$@"
  [ "$status" -eq "$code" ] || fail "'$*' ended with $status, not $code"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "'$*' wrote no single line: $(cat "$work/err")"
  grep -q '^assay: ' "$work/err" || fail "'$*' does not begin with assay: $(cat "$work/err")"
  grep -qF -- "$words" "$work/err" || fail "'$*' does not say '$words': $(cat "$work/err")"
}

# passes LAST_LINE ARG...: exit code 0, nothing on stderr, a last line.
passes() {
  local last=$1
  shift
  run "$@"
  [ "$status" -eq 0 ] || fail "'$*' ended with $status: $(cat "$work/err")"
  [ ! -s "$work/err" ] || fail "'$*' wrote to stderr: $(cat "$work/err")"
  [ -z "$last" ] || [ "$(tail -n 1 "$work/out")" = "$last" ] ||
    fail "'$*' ended with '$(tail -n 1 "$work/out")', not '$last'"
}

# Malformed input.
error 2 colour check "$good colour=red"
error 2 experts check "${good/experts=4/experts=0}"
error 2 top_k check "${good/top_k=2/top_k=9}"
error 2 rows check "${good/rows=1/rows=many}"
error 2 hidden check "${good/hidden=32/hidden=-32}"
error 2 format check "${good/format=nvfp4/format=fp3}"
error 2 /nonexistent/cases check @/nonexistent/cases
error 2 tpu check "$good" --device tpu
error 2 deep check "$good" --checks deep
error 2 line check
error 2 subcommand
error 2 frobnicate frobnicate
error 2 --frobnicate fuzz --frobnicate
error 2 soon fuzz --time soon
error 2 teapot fuzz --paths teapot
error 2 30s fuzz --time 5
error 2 -1 fuzz --seed -1
error 2 99999999999999999999 fuzz --cases 99999999999999999999
error 2 regular check "@$work"
error 2 regular check @/dev/zero
error 2 none_such faults --only none_such
error 2 none_such replay --fault none_such "$good"
error 2 sonnets list sonnets
error 2 /nonexistent/policy gate --policy /nonexistent/policy --out "$work/gate"
printf '[fuzz]\ncases = "many"\n' >"$work/policy.toml"
error 2 "$work/policy.toml" gate --policy "$work/policy.toml" --out "$work/gate"
sed 's|^folders = .*|folders = ["/nonexistent/goldens"]|' "$(dirname "$0")/gate.toml" >"$work/policy.toml"
error 2 goldens.folders gate --policy "$work/policy.toml" --out "$work/gate"

# Without a GPU, asking for one is answered with exit code 5.
run doctor
[ "$status" -eq 0 ] || fail "doctor ended with $status: $(cat "$work/out")"
if grep -q '^cuda  *no' "$work/out"; then
  error 5 '' check "$good" --device cuda
  error 5 '' fuzz --device cuda --out "$work/fuzz"
  error 5 '' faults --device cuda
  error 5 '' gate --device cuda --out "$work/gate"
fi
# Output that nobody gets is no pass.
status=0
"$assay" check "$good" >/dev/full 2>"$work/err" || status=$?
[ "$status" -eq 5 ] || fail "lost output ended with $status, not 5"
grep -q '^assay: standard output was lost' "$work/err" || fail 'lost output is not named'
# A disk that fills: findings and records of at most one block.
status=0
(ulimit -f 1; trap '' XFSZ; "$assay" gate --device host --cases 0 --out "$work/full") \
  >/dev/null 2>"$work/err" || status=$?
[ "$status" -eq 5 ] || fail "a full disk ended with $status, not 5: $(cat "$work/err")"
grep -q '^assay: .*cannot be written.*; kept in .* case records' "$work/err" ||
  fail "a full disk is not named with what was kept: $(cat "$work/err")"
touch "$work/file"
error 5 "$work/file" fuzz --cases 1 --out "$work/file"

# Judging.
passes '1 passed, 0 failed, 0 skipped' check "$good"
passes '1 passed, 0 failed, 0 skipped' replay "$good"
# shellcheck disable=SC2086  # one argument a field
passes '1 passed, 0 failed, 0 skipped' check $good
printf '# two\n%s\n%s seed=1\n' "$good" "$good" >"$work/cases.txt"
passes '2 passed, 0 failed, 0 skipped' check "@$work/cases.txt"
passes '12 passed, 0 failed, 0 skipped' fuzz --cases 12 --seed 1 --distribution small \
  --paths batched --out "$work/fuzz"
[ -e "$work/fuzz/findings.jsonl" ] || fail 'fuzz left no findings.jsonl'
[ ! -s "$work/fuzz/findings.jsonl" ] || fail 'a clean fuzz run left findings'

# A declared refusal alone: nothing was judged.
run check 'path=batched format=mxfp4 layout=row_major rows=1'
[ "$status" -eq 77 ] || fail "a refused case ended with $status"
[ "$(tail -n 1 "$work/out")" = '1 passed (1 refused), 0 failed, 0 skipped' ] ||
  fail "a refused case ended with '$(tail -n 1 "$work/out")'"

# Every help shows two examples and goes to stdout.
for command in gate check fuzz replay faults golden list doctor; do
  passes '' "$command" --help
  [ "$(sed -n '/^Examples:/,$p' "$work/out" | grep -c '^  assay ')" -eq 2 ] ||
    fail "$command --help does not show two examples"
done
for topic in checks faults fields formats models paths rules; do
  passes '' list "$topic"
  [ "$(wc -l <"$work/out")" -gt 2 ] || fail "list $topic is empty"
done
passes '' faults --list --names

# A planted fault is found by its check, and replayed it fails with the class of that check.
passes '1 passed, 0 failed, 0 skipped' faults --only k3_e8m0_unguarded
line=$(sed -n '/^shrunk to/{n;s/^ *//p}' "$work/out")
run replay --fault k3_e8m0_unguarded "$line"
[ "$status" -eq 4 ] || fail "the replayed over-read ended with $status, not 4"

# Ctrl-C: stops cleanly, keeps its counts.
"$assay" fuzz --time 60s --distribution small --out "$work/interrupted" >"$work/out" 2>"$work/err" &
pid=$!
sleep 2
kill -INT "$pid"
wait "$pid"
status=$?
[ "$status" -eq 0 ] || fail "an interrupted clean fuzz run ended with $status"
grep -q 'interrupted' "$work/out" || fail 'an interrupted fuzz run does not say so'
grep -qE '^interrupted after [0-9]+ cases$' "$work/out" || fail 'an interrupted fuzz run has no line of it'
tail -n 1 "$work/out" | grep -q ' passed, 0 failed, ' || fail 'an interrupted fuzz run lost its counts'

# An interrupted gate is neither passed nor silent.
"$assay" gate --device host --workers 1 --out "$work/half" >"$work/out" 2>"$work/err" &
pid=$!
sleep 2
kill -TERM "$pid"
wait "$pid"
status=$?
[ "$status" -eq 1 ] || fail "an interrupted gate ended with $status, not 1"
head -n 1 "$work/half/summary.md" | grep -qx '# assay gate: interrupted' ||
  fail "an interrupted gate is called '$(head -n 1 "$work/half/summary.md")'"
grep -qE '<error message="gate interrupted after [0-9]+ of [0-9]+ cases"/>' "$work/half/junit.xml" ||
  fail 'junit.xml of an interrupted gate has no error'
grep -q '<skipped message="interrupted"/>' "$work/half/junit.xml" ||
  fail 'junit.xml of an interrupted gate does not list what was not run'

[ "$failures" -eq 0 ] && printf 'all of the command line holds\n'
[ "$failures" -eq 0 ]
