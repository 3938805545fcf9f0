# syntax=docker/dockerfile:1
# The HTTP service, the page, the proxy and MCP in one image. `docker build -t groundwire .`

FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# An environment without pip in it: nothing is installed where it runs.
RUN python -m venv --without-pip /opt/groundwire \
    && pip --python /opt/groundwire/bin/python install --no-cache-dir \
       ".[server,mcp,postgres,redis,rag,openai,anthropic]"

FROM python:3.12-slim
LABEL org.opencontainers.image.title="groundwire" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --no-log-init --create-home --home-dir /data groundwire
COPY --from=build /opt/groundwire /opt/groundwire
ENV PATH=/opt/groundwire/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    GROUNDWIRE_SERVER__HOST=0.0.0.0 \
    GROUNDWIRE_STORE__URL=/data/groundwire.db \
    GROUNDWIRE_STORE__CACHE_PATH=/data/cache.db \
    GROUNDWIRE_RAG__PATH=/data/rag.db
USER groundwire
WORKDIR /data
VOLUME /data
EXPOSE 8321
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import http.client as h, sys; c = h.HTTPConnection('127.0.0.1', 8321, timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["groundwire"]
CMD ["serve"]
