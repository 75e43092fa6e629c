# The image of the server. `tools/image.ts` collects its files (and can build the same image without a daemon).
# Small: libc, busybox, certificates, time zones, Deno, the service. No package manager; writes to /data and /tmp; not root.
#   docker build -t sluice:0.1.0 .
#   docker run -p 2746:2746 -v sluice:/data sluice:0.1.0       # shows an access token at its first start
FROM node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS build
RUN apt-get update && npm install --global --no-audit deno@2.9.6
WORKDIR /sluice
COPY package.json deno.json deno.lock ./
COPY tools/image.ts tools/image_sbom.ts tools/oci_archive.ts tools/
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
ENV SLUICE_STORE=sqlite:/data
ENV SLUICE_EXECUTOR=none
ENV SLUICE_AUTH_MODE=client
ENV SLUICE_WORK_DIR=/tmp/work
ENV SLUICE_JQ_COMMAND=/usr/local/bin/sluice-jq
LABEL org.opencontainers.image.title="sluice"
LABEL org.opencontainers.image.description="A durable workflow service: Argo-compatible REST API and manifests, suspend and resume, events, many replicas on one Redis"
LABEL org.opencontainers.image.version="0.1.0"
LABEL org.opencontainers.image.licenses="Apache-2.0"
EXPOSE 2746/tcp
VOLUME /data
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/bin/busybox", "sh", "-c", "exec busybox wget -q -O /dev/null http://127.0.0.1:${SLUICE_PORT:-2746}/readyz"]
ENTRYPOINT ["/usr/local/bin/sluice"]
