# The service alone: production dependencies, the sources as they are (Node runs TypeScript), no root, no shell needed.
# The version of Node is that of package-lock.json, with which the tests run. To pin the very bytes, append the digest that
# `docker buildx imagetools inspect node:26.10.0-slim` prints: node:26.10.0-slim@sha256:...
FROM node:26.10.0-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json tools/image/prune.ts ./
COPY packages packages
# No dependency of the service needs a script to be installed, so none gets to run one.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Types, source maps, and what of viem nobody loads: a hundred megabytes that the service never reads.
RUN node prune.ts node_modules

FROM node:26.10.0-slim
LABEL org.opencontainers.image.title="countersign" \
      org.opencontainers.image.description="Answers payment and signing confirmations: SUCCESS if authentic, first and within policy." \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY src src
COPY packages packages
COPY config config
# Without other settings, the image serves the demo. In a container, its ports must listen on every address to be published.
RUN sed -i 's/^  host: 127\.0\.0\.1$/  host: 0.0.0.0/' config/countersign.yaml
COPY docs/rules docs/rules
# /app/data is for the embedded store; with Redis nothing is written, and the root file system may be read-only.
RUN ln -s /app/bin/countersign.js /usr/local/bin/countersign && mkdir data && chown node:node data
# What Node makes of the sources is kept for the starts to come. It is made as the user that will read it, and then belongs to root:
# nobody in the container can change what is run. On a CPU with other features Node takes none of it, and starts later.
RUN install -d -o node -g node node_modules/.compiled && \
    setpriv --reuid=1000 --regid=1000 --clear-groups node bin/countersign.js --help > /dev/null && \
    chown -R root:root node_modules/.compiled && chmod -R u=rwX,go=rX node_modules/.compiled
# Who builds a release gives the commit and the repository. `countersign --version` prints the commit.
ARG VERSION=0.1.0
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
RUN printf '%s' "${REVISION}" > commit
USER 1000:1000
VOLUME /app/data
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
# It reads the port from the settings, as the service does: name another file of settings by COUNTERSIGN_CONFIG.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "bin/countersign.js", "health"]
# Short-lived objects are most of what a callback leaves behind: a larger space for them saves a tenth of the CPU, and costs some
# 100 MiB of memory. `npm start` and deploy/kubernetes run it so as well.
ENTRYPOINT ["node", "--max-semi-space-size=64", "bin/countersign.js"]
CMD ["serve"]
