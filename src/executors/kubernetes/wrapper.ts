/**
 * What runs around a command in a pod whose outputs are wanted: a static busybox, brought by an init container, with the
 * scripts below. So outputs come from any image, also one without a shell, and without a second container that waits.
 * Small outputs go home in the termination message, which the watch of the pod brings at once; larger ones, and
 * artifacts, by a call back to the server.
 */

/** Init container of our own; `init` may be a user's. */
export const HELPER_NAME = "sluice-init";
/** Folder that the containers of a pod share. */
export const SHARED_DIR = "/var/run/argo";
/** Folder with the scripts, from annotations of the pod. */
export const SCRIPTS_DIR = "/argo/staging";
/** File that a command writes its progress to, as `N/M`. */
export const PROGRESS_FILE = `${SHARED_DIR}/progress`;
/** What a termination message of ours begins with. */
export const MESSAGE_PREFIX = "sluice:";
/** How often a call is made that the server answers with a fault of its own: some two minutes. */
const TRIES = 30;
/** The same while no server answers, or none that reaches its store: some ten minutes, in which a deployment comes back. */
const AWAY_TRIES = 120;
/** Most seconds that the server may take over what it was sent. One whose machine is gone never answers. */
const ANSWER_SECONDS = 3600;
/** Longest termination message that Kubernetes keeps. */
const MAX_MESSAGE_BYTES = 4096;

/**
 * Ends with 64 when there is no command "$1", and says so in the words of the reference. Its parameters: where the message
 * goes, and the command.
 */
const FIND_COMMAND = `_s_find() {
  _se=
  case $2 in
    */*)
      if [ ! -e "$2" ]; then _se="stat $2: no such file or directory"
      elif [ -d "$2" ]; then _se="is a directory"
      elif [ ! -x "$2" ]; then _se="permission denied"
      fi ;;
    *)
      _se='executable file not found in $PATH'
      _si=$IFS; IFS=:
      for _sf in $PATH; do
        if [ -f "$_sf/$2" ] && [ -x "$_sf/$2" ]; then _se=; break; fi
      done
      IFS=$_si ;;
  esac
  [ -n "$_se" ] || return 0
  _se="failed to find name in PATH: exec: \\"$2\\": $_se"
  echo "$_se" >&2
  printf %s "$_se" >"$1"
  return 1
}
`;

/**
 * Waits for the end of "$_sp", which a signal does not cut short: its exit code is in "$_sc". A trap sets "$_sa".
 * A process that has already been waited for has no exit code any more (127).
 */
const WAIT = `_s_wait() {
  _sc=127
  while :; do
    _sa=
    wait "$_sp"; _su=$?
    [ "$_su" = 127 ] || _sc=$_su
    [ -n "$_sa" ] || break
  done
  _sp=
}
`;

/**
 * Waits until the container "$1" of this pod has ended, and leaves its exit code in "$_sc". Each waiter has a pipe in its own
 * folder: in a folder that all may write to, the kernel keeps users from opening each other's.
 */
const AWAIT_END = `_s_await() {
  $_sb mkfifo -m 666 "$_sd/wait.$1"
  # Open before the look, and for both: so neither side misses the other or waits for it.
  exec 3<>"$_sd/wait.$1"
  [ -s "$_ss/$1/exitcode" ] || read -r _su <&3
  exec 3>&-
  _sc=$($_sb cat "$_ss/$1/exitcode")
}
`;

/**
 * Runs "$@" as process 1's child: waits for what it depends on, keeps stdout besides passing it on, hands SIGTERM over,
 * and reports. Variables: SLUICE_NAME, SLUICE_AFTER (names), SLUICE_RETRIES, SLUICE_RETRY_WAIT, SLUICE_KEEP_STDOUT,
 * SLUICE_FILES (lines: parameter index, tab, path), SLUICE_ARTIFACTS (lines: index, tab, path), SLUICE_HOST, SLUICE_PORT,
 * SLUICE_PATH, SLUICE_TASK, SLUICE_TOKEN, ARGO_PROGRESS_FILE (told once a second at first, later each five). Its own begin with `_s`, since a name that the user's environment has would change there.
 * Exit 64: there is no such command.
 * Requests go by nc: busybox' wget can't send binary data. The pipe `hold` keeps the sending side open until the answer
 * is there, which servers expect: both sides open it first, and nc's side closes it when nc has ended, whatever was sent by
 * then. Exit 65: the outputs could not be brought home.
 */
export const RUN_SCRIPT = `_sb=${SHARED_DIR}/busybox
_ss=${SHARED_DIR}/ctr
_sd=$_ss/$SLUICE_NAME
_sr=$_sd/report
$_sb mkdir -p "$_sr"
${FIND_COMMAND}${WAIT}${AWAIT_END}_s_end() {
  echo "$1" >"$_sd/exitcode"
  for _sf in "$_ss"/*/"wait.$SLUICE_NAME"; do [ ! -p "$_sf" ] || echo 1<>"$_sf"; done
  exit "$1"
}
trap '_s_end 143' TERM INT HUP
for _sn in $SLUICE_AFTER; do
  _s_await "$_sn"
  [ "$_sc" = 0 ] || _s_end "$_sc"
done
_s_find "\${SLUICE_MESSAGE_PATH:-/dev/termination-log}" "$1" || _s_end 64
_sp= _sy=
trap '_sa=1 _sy=1; [ -z "$_sp" ] || kill -TERM "$_sp" 2>/dev/null' TERM INT HUP
_s_exec() {
  exec $_sb env -u SLUICE_NAME -u SLUICE_AFTER -u SLUICE_RETRIES -u SLUICE_RETRY_WAIT -u SLUICE_KEEP_STDOUT \\
    -u SLUICE_FILES -u SLUICE_ARTIFACTS -u SLUICE_HOST -u SLUICE_PORT -u SLUICE_PATH -u SLUICE_TASK \\
    -u SLUICE_TOKEN -u SLUICE_MESSAGE_PATH "$@"
}
_s_run() {
  _st=
  if [ -n "$SLUICE_KEEP_STDOUT" ]; then
    $_sb rm -f "$_sd/pipe"; $_sb mkfifo "$_sd/pipe"
    $_sb tee "$_sd/stdout" <"$_sd/pipe" &
    _st=$!
    _s_exec "$@" >"$_sd/pipe" &
  else
    _s_exec "$@" &
  fi
  _sp=$!
  _s_wait
  [ -n "$_st" ] || return 0
  # What the command left behind would keep its stdout open for ever; it ends with the container anyway.
  if [ "$$" = 1 ]; then
    for _so in /proc/[0-9]*; do
      _so=\${_so#/proc/}
      case $_so in 1 | "$_st") ;; *) kill -9 "$_so" 2>/dev/null ;; esac
    done
  fi
  wait "$_st"
}
_s_post() {
  [ -n "$SLUICE_HOST" ] || { echo "pods call back by plain http only" >"$_sd/error"; return 1; }
  _sq=0
  while :; do
    $_sb rm -f "$_sd/hold"; $_sb mkfifo "$_sd/hold"
    {
      exec 4<"$_sd/hold"
      printf 'POST %s/%s HTTP/1.0\\r\\nHost: %s\\r\\nAuthorization: Bearer %s\\r\\n' "$SLUICE_PATH" "$2" "$SLUICE_HOST" "$SLUICE_TOKEN"
      printf 'X-Sluice-Task: %s\\r\\n' "$SLUICE_TASK"
      printf 'Content-Type: application/x-tar\\r\\nContent-Length: %s\\r\\n\\r\\n' "$($_sb wc -c <"$1")"
      $_sb cat "$1"
      $_sb timeout ${ANSWER_SECONDS} cat <&4 || kill -9 "$($_sb cat "$_sd/nc")"
    } 2>/dev/null | {
      exec 3>"$_sd/hold" 5<&0
      $_sb nc "$SLUICE_HOST" "$SLUICE_PORT" <&5 >"$_sd/answer" 2>"$_sd/error" &
      # Only nc reads: what feeds it must notice its end.
      exec 5<&- </dev/null
      echo $! >"$_sd/nc"; wait
    }
    _sv=; read -r _su _sv _su <"$_sd/answer"
    _sh=${TRIES}
    case $_sv in
      200) $_sb sed '1,/^\\r*$/d' "$_sd/answer" >"$3"; return 0 ;;
      4*) $_sb sed '1,/^\\r*$/d' "$_sd/answer" | $_sb tail -c 300 >"$_sd/error"; return 1 ;;
      '' | 502 | 503 | 504) _sh=${AWAY_TRIES} ;;
    esac
    _sq=$((_sq + 1)); [ "$_sq" -ge "$_sh" ] && return 1
    $_sb sleep $((_sq < 5 ? _sq : 5))
  done
}
_s_tell() {
  [ -s "$ARGO_PROGRESS_FILE" ] || return 1
  _sz=$($_sb tail -n 1 "$ARGO_PROGRESS_FILE")
  [ "$_sz" != "$_sx" ] || return 1
  _sx=$_sz
  printf %s "$_sz" >"$_sd/progress"
  _s_post "$_sd/progress" progress /dev/null
}
_sx= _sj=
if [ -n "$ARGO_PROGRESS_FILE" ]; then
  (
    _sd=$_sd/told; $_sb mkdir -p "$_sd"; _sw=1
    while $_sb sleep "$_sw"; do _s_tell && [ "$_sw" -lt 5 ] && _sw=$((_sw + 1)); done
  ) </dev/null >/dev/null 2>&1 &
  _sj=$!
fi
_sk=0
_s_run "$@"
while [ "$_sc" != 0 ] && [ -z "$_sy" ] && [ "$_sk" -lt "\${SLUICE_RETRIES:-0}" ]; do
  _sk=$((_sk + 1)); $_sb sleep "\${SLUICE_RETRY_WAIT:-0}"; _s_run "$@"
done
[ -z "$_sj" ] || { kill -9 "$_sj" 2>/dev/null; _s_tell; }
[ -z "$SLUICE_KEEP_STDOUT" ] || $_sb tail -c 262148 "$_sd/stdout" >"$_sr/result"
_sw=$(printf '\\t')
echo "$SLUICE_FILES" | while IFS="$_sw" read -r _si _sf; do
  [ -n "$_si" ] || continue
  if [ -f "$_sf" ]; then $_sb head -c 1048577 "$_sf" >"$_sr/p.$_si"
  elif [ -e "$_sf" ]; then : >"$_sr/n.$_si"
  fi
done
echo "$SLUICE_ARTIFACTS" | while IFS="$_sw" read -r _si _sf; do
  [ -n "$_si" ] || continue
  if [ ! -e "$_sf" ]; then echo missing >"$_sr/a.$_si"; continue; fi
  # A folder may end with a slash, and of a link counts what it leads to.
  _sf=$($_sb readlink -f "$_sf")
  _sg=\${_sf%/*}
  $_sb tar -C "\${_sg:-/}" -cf "$_sd/artifact.tar" "\${_sf##*/}" &&
    _s_post "$_sd/artifact.tar" "artifacts/$_si" "$_sr/a.$_si" || { echo lost >"$_sd/lost"; break; }
  $_sb rm -f "$_sd/artifact.tar"
done
_sl=; [ ! -e "$_sd/lost" ] || _sl=1
_sm=\${SLUICE_MESSAGE_PATH:-/dev/termination-log}
if [ -z "$_sl" ] && [ -n "$($_sb ls "$_sr")" ]; then
  $_sb tar -C "$_sr" -cf "$_sd/report.tar" .
  $_sb gzip -c "$_sd/report.tar" | $_sb base64 -w 0 >"$_sd/report.b64"
  if [ "$($_sb wc -c <"$_sd/report.b64")" -le ${
  MAX_MESSAGE_BYTES - MESSAGE_PREFIX.length - 1
} ]; then
    { printf '${MESSAGE_PREFIX}'; $_sb cat "$_sd/report.b64"; } >"$_sm"
  elif _s_post "$_sd/report.tar" outputs /dev/null; then printf '${MESSAGE_PREFIX}' >"$_sm"
  else _sl=1; fi
fi
if [ -n "$_sl" ]; then
  { printf 'cannot send the outputs to the server: '; $_sb cat "$_sd/error"; } >"$_sm"
  [ "$_sc" != 0 ] || _sc=65
fi
_s_end "$_sc"
`;

/**
 * Runs the command of a sidecar, and ends it when the main containers have ended that can say so. Parameters: the
 * container's name, its termination message path, the names of those containers, the command. A command that was told to end
 * and did has not failed.
 */
export const SIDECAR_SCRIPT = `_sb=${SHARED_DIR}/busybox
_ss=${SHARED_DIR}/ctr
_sd=$_ss/$1
_sm=\${2:-/dev/termination-log}
_sn=$3
shift 3
$_sb mkdir -p "$_sd"
${FIND_COMMAND}${WAIT}${AWAIT_END}_sp=
_sy=
trap '_sa=1 _sy=1; [ -z "$_sp" ] || kill -TERM "$_sp" 2>/dev/null' TERM INT HUP
_s_find "$_sm" "$1" || exit 64
$_sb env "$@" &
_sp=$!
# It came before there was anything to tell.
[ -z "$_sy" ] || kill -TERM "$_sp" 2>/dev/null
if [ -n "$_sn" ]; then
  (for _sf in $_sn; do _s_await "$_sf"; done; kill -TERM "$$") </dev/null >/dev/null 2>&1 &
fi
_s_wait
case $_sc in 137 | 143) [ -z "$_sy" ] || _sc=0 ;; esac
exit "$_sc"
`;

/**
 * Brings busybox, and input artifacts into their volume. Variables: SLUICE_INPUTS (lines: index, folder to unpack in,
 * optional, name, with tabs between), SLUICE_HOST, SLUICE_PORT, SLUICE_PATH, SLUICE_TASK, SLUICE_TOKEN. wget keeps no body of
 * an error, so that is asked for once more, by nc.
 */
export const INIT_SCRIPT = `set -e
B=/bin/busybox
D=${SHARED_DIR}
message=/dev/termination-log
$B cp $B $D/busybox
# Containers may run as different users.
$B mkdir -p -m 1777 $D/ctr
tab=$(printf '\\t')
fail() { printf 'input artifact %s failed to load: %s' "$name" "$1" >$message; exit 1; }
reason() {
  $B rm -f $D/hold; $B mkfifo $D/hold
  {
    printf 'GET %s HTTP/1.0\\r\\nHost: %s\\r\\nAuthorization: Bearer %s\\r\\n' "$path" "$SLUICE_HOST" "$SLUICE_TOKEN"
    printf 'X-Sluice-Task: %s\\r\\n\\r\\n' "$SLUICE_TASK"; $B cat $D/hold
  } | { $B nc "$SLUICE_HOST" "$SLUICE_PORT" 2>/dev/null | $B sed '1,/^\\r*$/d' | $B head -c 1000; : >$D/hold; }
}
echo "$SLUICE_INPUTS" | while IFS="$tab" read -r index folder optional name; do
  [ -n "$index" ] || continue
  [ -n "$SLUICE_HOST" ] || fail 'pods fetch artifacts by plain http only'
  $B mkdir -p "$folder"
  path=$SLUICE_PATH/inputs/$index
  n=0
  until $B wget -q -S -O $D/input.tar --header "Authorization: Bearer $SLUICE_TOKEN" \\
    --header "X-Sluice-Task: $SLUICE_TASK" "http://$SLUICE_HOST:$SLUICE_PORT$path" 2>$D/wget.log; do
    status=$($B sed -n 's,^.*HTTP/1\\.[01] \\([0-9]*\\).*$,\\1,p' $D/wget.log | $B tail -n 1)
    case $status in
      404) [ "$optional" = true ] && continue 2; fail "$(reason || true)" ;;
      408 | 429) ;;
      4*) fail "$(reason || true)" ;;
    esac
    n=$((n + 1))
    tries=10
    case $status in '' | 502 | 503 | 504) tries=${AWAY_TRIES} ;; esac
    if [ "$n" -ge "$tries" ]; then
      case $status in
        '') fail "$($B tail -c 300 $D/wget.log)" ;;
        *) fail "$(reason || true)" ;;
      esac
    fi
    $B sleep $((n < 5 ? n : 5))
  done
  $B tar -xf $D/input.tar -C "$folder"
  $B rm -f $D/input.tar
done
`;
