# The image of the server. `tools/image.ts` collects its files (and can build the same image without a daemon).
# Small: libc, busybox, certificates, time zones, Deno, the service. No package manager; writes to /tmp only; not root.
#   docker build -t sluice:0.1.0 .
#   docker run --read-only --tmpfs /tmp -p 127.0.0.1:2746:2746 sluice:0.1.0 \
#     --store redis://HOST:6379 --executor none --allow-remote-without-auth
FROM node:24-bookworm-slim AS build
RUN apt-get update && npm install --global --no-audit deno@2.9.6
WORKDIR /sluice
COPY package.json deno.json deno.lock ./
COPY tools/image.ts tools/oci_archive.ts tools/build_ui.ts tools/
COPY src src
ARG TARGETARCH=amd64
RUN deno run -A tools/image.ts --folder /image --arch "$TARGETARCH"

FROM scratch
COPY --from=build /image/ /
USER 65532:65532
WORKDIR /app
ENV PATH=/usr/local/bin:/usr/bin:/bin
ENV HOME=/tmp
ENV DENO_DIR=/tmp/deno
ENV DENO_NO_UPDATE_CHECK=1
ENV SLUICE_HOST=0.0.0.0
ENV SLUICE_WORK_DIR=/tmp/work
EXPOSE 2746/tcp
ENTRYPOINT ["/usr/local/bin/deno", "run", "--cached-only", "--no-lock", "--v8-flags=--max-old-space-size=704", "--no-prompt", "--allow-net", "--allow-env", "--allow-sys", "--allow-read=/app,/tmp,/tls,/manifests,/argo-ui,/var/run/secrets,/etc", "--allow-write=/tmp", "/app/src/main.ts"]
