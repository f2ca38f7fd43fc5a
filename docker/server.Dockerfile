# The server and its page; no torch. Build from the repository's root (docker-compose.yml does).
FROM node:20-bookworm-slim AS frontend
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci
COPY frontend ./
RUN npm run build && npm run build:page

FROM python:3.12-slim-bookworm
WORKDIR /src
COPY . .
COPY --from=frontend /src/backend/kvarium/static backend/kvarium/static
COPY --from=frontend /src/backend/kvarium/exported backend/kvarium/exported
RUN PIP_NO_CACHE_DIR=1 scripts/install.sh --extra postgres /opt/kvarium
RUN useradd --create-home kvarium && mkdir -p /data && chown kvarium /data
USER kvarium
WORKDIR /data
VOLUME /data
ENV PATH=/opt/kvarium/bin:$PATH PYTHONUNBUFFERED=1
EXPOSE 8642
ENTRYPOINT ["kvarium"]
CMD ["serve", "--no-engine", "--host", "0.0.0.0", "--port", "8642", "--db", "/data/kvarium.db"]
