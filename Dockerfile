# A collector: docs/deploy.md. The versions are those of constraints.txt.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/coterie \
 && /opt/coterie/bin/pip install --no-cache-dir -c constraints.txt hatchling editables \
 && /opt/coterie/bin/pip install --no-cache-dir -c constraints.txt --no-build-isolation '.[analyst,fast,service]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 coterie && install -d -o coterie -m 700 /var/lib/coterie
COPY --from=build /opt/coterie /opt/coterie
USER coterie
ENV COTERIE_SERVE_HOST=0.0.0.0 COTERIE_SERVE_DATA=/var/lib/coterie
VOLUME /var/lib/coterie
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["/opt/coterie/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8787/healthz', timeout=5)"]
ENTRYPOINT ["/opt/coterie/bin/coterie", "serve"]
