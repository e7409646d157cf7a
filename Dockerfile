# A collector: docs/deploy.md. PYTHON_IMAGE names the base by its digest, python:3.13-slim@sha256:…, and has no default:
# `make images` asks for the present ones and writes them to .env, which compose.yaml reads.
ARG PYTHON_IMAGE
FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY locks locks
# What builds the wheel is pinned by its hashes, too, and stays in this stage. So do other packages' tests and C sources.
RUN python -m venv /build \
 && /build/bin/pip install --no-cache-dir --require-hashes -r locks/build.lock \
 && python -m venv --without-pip /opt/coterie \
 && pip --python /opt/coterie/bin/python install --no-cache-dir --no-compile --require-hashes --only-binary :all: -r locks/service.lock \
 && find /opt/coterie/lib \( -name tests -o -name test -o -name '*.c' -o -name '*.pyx' \) -prune -exec rm -rf {} +
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY tools/serve_demo.py ./
# A study is played in what was installed: it has to work, and leaves compiled what a collector loads, and nothing else.
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
 && pip --python /opt/coterie/bin/python install --no-cache-dir --no-compile --no-deps /dist/coterie-*.whl \
 && cd / && /opt/coterie/bin/python /src/serve_demo.py --once --port 0 --people 5000

FROM ${PYTHON_IMAGE}
# Nothing that installs or builds is left: neither pip nor what it stands on.
RUN python -m pip uninstall --yes --quiet pip setuptools wheel 2>/dev/null; rm -rf /usr/local/bin/pip* \
 && useradd --system --uid 10001 --shell /usr/sbin/nologin coterie \
 && install -d -o coterie -m 700 /var/lib/coterie
COPY --from=build /opt/coterie /opt/coterie
USER 10001
ENV COTERIE_SERVE_HOST=0.0.0.0 COTERIE_SERVE_DATA=/var/lib/coterie PYTHONDONTWRITEBYTECODE=1
VOLUME /var/lib/coterie
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["/opt/coterie/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8787/readyz', timeout=5)"]
ENTRYPOINT ["/opt/coterie/bin/coterie", "serve"]
