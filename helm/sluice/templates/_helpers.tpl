{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "sluice.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "sluice.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Of the release's own Redis. Its pods have a label of this name and eleven characters, and a label's value has at most 63. */}}
{{- define "sluice.redisName" -}}
{{- include "sluice.fullname" . | trunc 46 | trimSuffix "-" -}}-redis
{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ include "sluice.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "sluice.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "sluice.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Marks the pods of this release; a label's value has at most 63 characters. */}}
{{- define "sluice.instance" -}}
{{- $name := printf "%s-%s" .Release.Namespace (include "sluice.fullname" .) -}}
{{- if gt (len $name) 63 -}}
{{- printf "%s-%s" ($name | trunc 54 | trimSuffix "-") ($name | sha256sum | trunc 8) -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{- define "sluice.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* A value as quoted text, without exponents in large numbers (1e+06). */}}
{{- define "sluice.text" -}}
{{- if kindIs "float64" . -}}
{{- int64 . | toString | quote -}}
{{- else -}}
{{- toString . | quote -}}
{{- end -}}
{{- end -}}

{{/* Names under which the service answers if it asks for no credential. */}}
{{- define "sluice.allowedHosts" -}}
{{- $service := printf "%s.%s" (include "sluice.fullname" .) .Release.Namespace -}}
{{- $hosts := list $service (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service) -}}
{{- if and .Values.ingress.enabled .Values.ingress.host -}}
{{- $hosts = append $hosts .Values.ingress.host -}}
{{- end -}}
{{- if .Values.httpRoute.enabled -}}
{{- $hosts = concat $hosts (.Values.httpRoute.hostnames | default list) -}}
{{- end -}}
{{- concat $hosts (.Values.auth.allowedHosts | default list) | uniq | join "," -}}
{{- end -}}

{{/* The service's address inside the cluster. */}}
{{- define "sluice.serviceUrl" -}}
http://{{ include "sluice.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end -}}

{{/* The service's address for jobs elsewhere. */}}
{{- define "sluice.publicUrl" -}}
{{- if .Values.callbacks.publicUrl -}}
{{ .Values.callbacks.publicUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.host (not (contains "*" .Values.ingress.host)) -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}
{{- else -}}
{{ include "sluice.serviceUrl" . }}
{{- end -}}
{{- end -}}

{{/* The number of processes in a pod, or auto; empty if it is the usual one. */}}
{{- define "sluice.processes" -}}
{{- $count := ternary .Values.processes (int64 .Values.processes) (kindIs "string" .Values.processes) | toString -}}
{{- if ne $count "1" }}{{ $count }}{{ end -}}
{{- end -}}

{{/* How each process starts: as the server does in the image. */}}
{{- define "sluice.processCommand" -}}
/usr/local/bin/deno run --cached-only --no-lock --v8-flags=--no-memory-reducer,--retain-maps-for-n-gc=16,--invocation-count-for-turbofan=300000,--max-old-space-size=704,--heap-growing-percent=200 --no-prompt --allow-net --allow-env --allow-sys --allow-read=/app,/data,/tmp,/tls,/manifests,/argo-ui,/var/run/secrets,/etc --allow-write=/data,/tmp --allow-run=/usr/local/bin/sluice-jq /app/src/main.ts
{{- end -}}

{{/* How their parent starts: it alone may start programs, Deno only, and it takes no requests. */}}
{{- define "sluice.parentCommand" -}}
{{- $words := splitList " " (include "sluice.processCommand" .) -}}
{{- toYaml (concat (initial $words) (list "--allow-run=/usr/local/bin/deno" (last $words))) -}}
{{- end -}}

{{/* The ConfigMap with the access rules; empty if there are none. */}}
{{- define "sluice.accessConfigMap" -}}
{{- if .Values.auth.accessConfigMap -}}
{{- .Values.auth.accessConfigMap -}}
{{- else if .Values.auth.access -}}
{{- include "sluice.fullname" . }}-access
{{- end -}}
{{- end -}}

{{/* A quantity of memory in MiB. */}}
{{- define "sluice.mebibytes" -}}
{{- $text := toString . -}}
{{- $unit := regexFind "[kMGTPE]i?$" $text -}}
{{- $sizes := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- divf (mulf (trimSuffix $unit $text | float64) (get $sizes $unit | default 1.0)) 1048576 | int64 -}}
{{- end -}}

{{/* How much Redis may hold, in MiB; empty without a limit on its memory. The rest is for its connections and the process that rewrites its file. */}}
{{- define "sluice.redisMemory" -}}
{{- with dig "limits" "memory" "" (default dict .Values.redis.resources) -}}
{{- div (mul (include "sluice.mebibytes" . | int64) 3) 4 -}}
{{- end -}}
{{- end -}}

{{/* Bytes of the temporary storage. */}}
{{- define "sluice.temporaryBytes" -}}
{{- mul (include "sluice.mebibytes" .Values.temporaryStorage | int64) 1048576 -}}
{{- end -}}

{{/* Whether the cluster is asked about tokens; empty if not. */}}
{{- define "sluice.asksCluster" -}}
{{- if and (contains "client" .Values.auth.mode) (eq .Values.executor "kubernetes") }}true{{ end -}}
{{- end -}}

{{/* Whether `helm test` can work: its step is a pod, and its token one of the cluster; empty if not. */}}
{{- define "sluice.isTested" -}}
{{- if and (eq .Values.executor "kubernetes") (ne .Values.auth.mode "sso") }}true{{ end -}}
{{- end -}}

{{/* Values of authentication that depend on each other. */}}
{{- define "sluice.checkAuth" -}}
{{- if and (eq .Values.auth.mode "server") (not .Values.auth.allowWithoutAuth) -}}
{{- fail "auth.mode=server lets everybody who reaches the service do everything; choose client or sso, or say auth.allowWithoutAuth=true" -}}
{{- end -}}
{{- $sso := contains "sso" .Values.auth.mode -}}
{{- if and $sso (not (and .Values.auth.sso.issuer .Values.auth.sso.audience)) -}}
{{- fail "auth.mode=sso needs auth.sso.issuer and auth.sso.audience" -}}
{{- end -}}
{{- if and $sso (not .Values.auth.sso.jwksUrl) (not (regexMatch "^https?://." .Values.auth.sso.issuer)) -}}
{{- fail (printf "auth.sso.issuer=%s is not an address at which the issuer's keys can be found; correct it, or set auth.sso.jwksUrl" .Values.auth.sso.issuer) -}}
{{- end -}}
{{- range $name := list "issuer" "audience" "jwksUrl" "clientId" "redirectUrl" "clientSecret" -}}
{{- if and (not $sso) (get $.Values.auth.sso $name) -}}
{{- fail (printf "auth.sso.%s is for auth.mode=sso or \"client,sso\"; with auth.mode=%s there is no single sign-on" $name $.Values.auth.mode) -}}
{{- end -}}
{{- end -}}
{{- if ne (empty .Values.auth.sso.clientId) (empty .Values.auth.sso.redirectUrl) -}}
{{- fail "a login at the issuer needs both auth.sso.clientId and auth.sso.redirectUrl" -}}
{{- end -}}
{{- if and .Values.auth.sso.clientSecret (not .Values.auth.sso.clientId) -}}
{{- fail "auth.sso.clientSecret is the Secret of a client: it needs auth.sso.clientId" -}}
{{- end -}}
{{- if and (or $sso .Values.auth.tokensSecret) (not (include "sluice.accessConfigMap" .)) -}}
{{- fail "single sign-on and tokens need rules in auth.access or auth.accessConfigMap: without rules, nobody may do anything" -}}
{{- end -}}
{{- $asksCluster := include "sluice.asksCluster" . -}}
{{- if and (contains "client" .Values.auth.mode) (not $asksCluster) (not .Values.auth.tokensSecret) -}}
{{- fail (printf "auth.mode=client with executor=%s needs auth.tokensSecret: the cluster does not check tokens in this case" .Values.executor) -}}
{{- end -}}
{{- $scrape := .Values.metrics.serviceMonitor -}}
{{- if and $scrape.enabled (ne .Values.auth.mode "server") (not $asksCluster) (not $scrape.tokenSecret) -}}
{{- fail (printf "metrics.serviceMonitor.enabled=true with auth.mode=%s and executor=%s needs metrics.serviceMonitor.tokenSecret: Prometheus' own token is one of the cluster, which does not check tokens in this case" .Values.auth.mode .Values.executor) -}}
{{- end -}}
{{- end -}}

{{/* Values of the pods that depend on each other. */}}
{{- define "sluice.checkPods" -}}
{{- if and .Values.autoscaling.enabled (lt (int .Values.autoscaling.maxReplicas) (int .Values.autoscaling.minReplicas)) -}}
{{- fail (printf "autoscaling.maxReplicas=%d is less than autoscaling.minReplicas=%d" (int .Values.autoscaling.maxReplicas) (int .Values.autoscaling.minReplicas)) -}}
{{- end -}}
{{- $resources := .Values.resources | default dict -}}
{{- if and .Values.autoscaling.enabled (not (dig "requests" "cpu" (dig "limits" "cpu" "" $resources) $resources)) -}}
{{- fail "autoscaling.enabled=true needs resources.requests.cpu: the autoscaler compares the use of processors with it" -}}
{{- end -}}
{{- range $name := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- if hasKey ($.Values.podLabels | default dict) $name -}}
{{- fail (printf "podLabels can't have %s: the chart finds its pods by it" $name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.env }}
{{- if or (hasPrefix "SLUICE_" $name) (has $name (list "POD_NAME" "POD_NAMESPACE" "REDIS_PASSWORD")) -}}
{{- fail (printf "env can't have %s: settings of the server have values of their own, or are members of server, such as server.shards" $name) -}}
{{- end -}}
{{- end -}}
{{- $artifact := get (.Values.server | default dict) "maxArtifactBytes" | int64 -}}
{{- if gt $artifact (include "sluice.temporaryBytes" . | int64) -}}
{{- fail (printf "server.maxArtifactBytes=%d is more than temporaryStorage=%s, where artifacts lie on their way: the pod would be evicted" $artifact .Values.temporaryStorage) -}}
{{- end -}}
{{- $limit := dig "limits" "memory" "" (default dict .Values.resources) -}}
{{- $heap := mul 704 (ternary 1 (int .Values.processes) (kindIs "string" .Values.processes)) -}}
{{- if and $limit (lt (include "sluice.mebibytes" $limit | int64) $heap) -}}
{{- fail (printf "resources.limits.memory=%v is less than the heap that processes=%v may use (%dMi): the pod would be killed under load; give it 1Gi for each process" $limit .Values.processes $heap) -}}
{{- end -}}
{{- end -}}

{{/* Values that depend on each other; a wrong one gets one clear message. */}}
{{- define "sluice.check" -}}
{{- include "sluice.checkAuth" . -}}
{{- include "sluice.checkPods" . -}}
{{- $name := include "sluice.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%q can't be the name of a Service, which begins with a letter and has letters, digits and hyphens: choose another name for the release, or set fullnameOverride" $name) -}}
{{- end -}}
{{- $value := ternary "autoscaling.minReplicas" "replicas" .Values.autoscaling.enabled -}}
{{- $replicas := ternary (int .Values.autoscaling.minReplicas) (int .Values.replicas) .Values.autoscaling.enabled -}}
{{- if and (lt $replicas 2) (not .Values.allowSingleReplica) -}}
{{- fail (printf "%s=%d: with one replica an update or a lost node would refuse events; set at least 2, or allowSingleReplica=true" $value $replicas) -}}
{{- end -}}
{{- if and (eq .Values.manifestSource "kubernetes") .Values.manifestsConfigMap -}}
{{- fail "manifestsConfigMap is for manifestSource=store; with kubernetes: kubectl apply" -}}
{{- end -}}
{{- if and .Values.redis.enabled (not (regexMatch "^[A-Za-z0-9._~-]*$" (.Values.redis.password | default ""))) -}}
{{- fail "redis.password becomes part of an address: choose one of letters, digits and -._~" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled=true needs httpRoute.parentRefs: the gateway to which the route belongs" -}}
{{- end -}}
{{- if and (not .Values.redis.enabled) (not .Values.redis.externalUrl) (not .Values.redis.externalSecret) -}}
{{- fail "redis.enabled=false needs redis.externalUrl or redis.externalSecret" -}}
{{- end -}}
{{- if and .Values.redis.enabled (or .Values.redis.externalUrl .Values.redis.externalSecret) -}}
{{- fail "redis.externalUrl and redis.externalSecret need redis.enabled=false: with true the release has a Redis of its own" -}}
{{- end -}}
{{- if and (not .Values.redis.enabled) .Values.redis.password -}}
{{- fail "redis.password is for redis.enabled=true; the password of your own Redis belongs in redis.externalSecret or redis.externalUrl: redis://:PASSWORD@HOST" -}}
{{- end -}}
{{- $wait := get (.Values.server | default dict) "redisWait" | int -}}
{{- if and .Values.redis.enabled (gt $wait 0) -}}
{{- fail (printf "server.redisWait=%d needs replicas of Redis, and the release's own Redis has none: every write would be refused; leave it out, or use a Redis with replicas (redis.enabled=false)" $wait) -}}
{{- end -}}
{{- if and .Values.redis.externalUrl .Values.redis.externalSecret -}}
{{- fail "redis.externalUrl and redis.externalSecret both say where Redis is: choose one" -}}
{{- end -}}
{{- if and .Values.callbacks.keysSecret (not (regexMatch "^0+(ms|s|m|h|d)$" .Values.callbacks.keyRotation)) -}}
{{- fail "callbacks.keyRotation is for keys in the store; with callbacks.keysSecret, change the Secret" -}}
{{- end -}}
{{- end -}}

{{- define "sluice.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "sluice.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
