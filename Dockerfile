# The service alone: production dependencies, the sources as they are (Node runs TypeScript), no root.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY src src
COPY config config
RUN mkdir data && chown node:node data
USER node
VOLUME /app/data
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9090/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Short-lived objects are most of what a callback leaves behind: a larger space for them saves a tenth of the CPU.
ENTRYPOINT ["node", "--max-semi-space-size=64", "bin/countersign.js"]
CMD ["serve"]
