# The engine with torch; on a CPU or, started with a GPU reservation, on an NVIDIA GPU.
# torch brings its CUDA libraries; Triton needs a C compiler when it first loads a kernel.
FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The engine serves no page.
RUN PIP_NO_CACHE_DIR=1 KVARIUM_SKIP_FRONTEND=1 scripts/install.sh --extra engine /opt/kvarium \
  && install docker/engine.sh /opt/kvarium/bin/kvarium-engine
RUN useradd --create-home kvarium && mkdir -p /cache && chown kvarium /cache
USER kvarium
WORKDIR /home/kvarium
# Models are fetched at the first start, and kept here.
VOLUME /cache
ENV PATH=/opt/kvarium/bin:$PATH PYTHONUNBUFFERED=1 KVARIUM_CACHE=/cache
CMD ["kvarium-engine"]
