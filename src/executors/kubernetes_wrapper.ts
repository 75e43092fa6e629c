/**
 * What runs around a command in a pod whose outputs are wanted: a static busybox, brought by an init container, with the
 * scripts below. So outputs come from any image, also one without a shell, and without a second container that waits.
 * Small outputs go home in the termination message, which the watch of the pod brings at once; larger ones, and
 * artifacts, by a call back to the server.
 */

/** Folder that the containers of a pod share. */
export const SHARED_DIR = "/var/run/argo";
/** Folder with the scripts, from annotations of the pod. */
export const SCRIPTS_DIR = "/argo/staging";
/** What a termination message of ours begins with. */
export const MESSAGE_PREFIX = "sluice:";
/** Longest termination message that Kubernetes keeps. */
const MAX_MESSAGE_BYTES = 4096;

/**
 * Runs "$@" as process 1's child: waits for what it depends on, keeps stdout besides passing it on, hands SIGTERM over,
 * and reports. Variables: SLUICE_NAME, SLUICE_AFTER (names), SLUICE_RETRIES, SLUICE_RETRY_WAIT, SLUICE_KEEP_STDOUT,
 * SLUICE_FILES (lines: parameter index, tab, path), SLUICE_ARTIFACTS (lines: index, tab, path), SLUICE_URL, SLUICE_TOKEN.
 * Exit 65: the outputs could not be brought home.
 */
export const RUN_SCRIPT = `B=${SHARED_DIR}/busybox
S=${SHARED_DIR}/ctr
D=$S/$SLUICE_NAME
$B mkdir -p "$D/report"
for name in $SLUICE_AFTER; do
  while [ ! -s "$S/$name/exitcode" ]; do $B sleep 0.1; done
  code=$($B cat "$S/$name/exitcode")
  if [ "$code" != 0 ]; then echo "$code" >"$D/exitcode"; exit "$code"; fi
done
child=
trap '[ -n "$child" ] && kill -TERM "$child" 2>/dev/null' TERM INT HUP
run() {
  if [ -n "$SLUICE_KEEP_STDOUT" ]; then
    $B rm -f "$D/pipe"; $B mkfifo "$D/pipe"
    $B tee "$D/stdout" <"$D/pipe" &
    tee=$!
    env_clean "$@" >"$D/pipe" &
  else
    tee=
    env_clean "$@" &
  fi
  child=$!
  wait "$child"; code=$?
  while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
  child=
  [ -z "$tee" ] || wait "$tee"
}
env_clean() {
  exec $B env -u SLUICE_NAME -u SLUICE_AFTER -u SLUICE_RETRIES -u SLUICE_RETRY_WAIT -u SLUICE_KEEP_STDOUT \\
    -u SLUICE_FILES -u SLUICE_ARTIFACTS -u SLUICE_URL -u SLUICE_TOKEN "$@"
}
tries=0
run "$@"
while [ "$code" != 0 ] && [ "$tries" -lt "\${SLUICE_RETRIES:-0}" ]; do
  tries=$((tries + 1)); $B sleep "\${SLUICE_RETRY_WAIT:-0}"; run "$@"
done
R=$D/report
[ -z "$SLUICE_KEEP_STDOUT" ] || $B tail -c 262148 "$D/stdout" >"$R/result"
tab=$(printf '\\t')
echo "$SLUICE_FILES" | while IFS="$tab" read -r index path; do
  [ -n "$index" ] && [ -f "$path" ] && $B head -c 1048577 "$path" >"$R/p.$index"
done
post() {
  n=0
  until $B wget -q -O "$3" --header "Authorization: Bearer $SLUICE_TOKEN" --header "Content-Type: application/x-tar" \\
    --post-file "$1" "$SLUICE_URL/$2" 2>"$D/wget.log"; do
    n=$((n + 1)); [ "$n" -ge 30 ] && return 1
    $B sleep $((n < 5 ? n : 5))
  done
}
lost=
echo "$SLUICE_ARTIFACTS" | while IFS="$tab" read -r index path; do
  [ -n "$index" ] || continue
  if [ ! -e "$path" ]; then echo missing >"$R/a.$index"; continue; fi
  parent=\${path%/*}
  $B tar -C "\${parent:-/}" -cf "$D/artifact.tar" "\${path##*/}" &&
    post "$D/artifact.tar" "artifacts/$index" "$R/a.$index" || { echo lost >"$D/lost"; break; }
  $B rm -f "$D/artifact.tar"
done
[ -e "$D/lost" ] && lost=1
message=\${SLUICE_MESSAGE_PATH:-/dev/termination-log}
if [ -z "$lost" ] && [ -n "$($B ls "$R")" ]; then
  $B tar -C "$R" -cf "$D/report.tar" .
  $B gzip -c "$D/report.tar" | $B base64 -w 0 >"$D/report.b64"
  if [ "$($B wc -c <"$D/report.b64")" -le ${MAX_MESSAGE_BYTES - MESSAGE_PREFIX.length - 1} ]; then
    { printf '${MESSAGE_PREFIX}'; $B cat "$D/report.b64"; } >"$message"
  elif ! post "$D/report.tar" outputs /dev/null; then lost=1
  else printf '${MESSAGE_PREFIX}' >"$message"; fi
fi
echo "$code" >"$D/exitcode"
if [ -n "$lost" ]; then
  { printf 'cannot send the outputs to the server: '; $B tail -c 300 "$D/wget.log"; } >"$message"
  [ "$code" != 0 ] || exit 65
fi
exit "$code"
`;

/**
 * Brings busybox, and input artifacts into their volume. Variables: SLUICE_INPUTS (lines: index, tab, folder to unpack in,
 * tab, optional), SLUICE_URL, SLUICE_TOKEN.
 */
export const INIT_SCRIPT = `set -e
B=/bin/busybox
message=/dev/termination-log
$B cp $B ${SHARED_DIR}/busybox
tab=$(printf '\\t')
echo "$SLUICE_INPUTS" | while IFS="$tab" read -r index folder optional; do
  [ -n "$index" ] || continue
  $B mkdir -p "$folder"
  n=0
  until $B wget -q -S -O ${SHARED_DIR}/input.tar --header "Authorization: Bearer $SLUICE_TOKEN" "$SLUICE_URL/inputs/$index" \\
    2>${SHARED_DIR}/wget.log; do
    if $B grep -q "HTTP/1.1 404" ${SHARED_DIR}/wget.log; then
      [ "$optional" = true ] && continue 2
      printf 'input artifact does not exist in its repository' >$message; exit 1
    fi
    n=$((n + 1))
    if [ "$n" -ge 10 ]; then
      { printf 'cannot fetch an input artifact: '; $B tail -c 300 ${SHARED_DIR}/wget.log; } >$message; exit 1
    fi
    $B sleep $((n < 5 ? n : 5))
  done
  $B tar -xf ${SHARED_DIR}/input.tar -C "$folder"
  $B rm -f ${SHARED_DIR}/input.tar
done
`;
