# docker build -t registry.example.com/muster:0.1.0 .

FROM python:3.13-slim AS build
WORKDIR /build
# Every package of the lock file, its hash checked; the steps below take from these alone.
COPY requirements.lock .
RUN pip download --quiet --only-binary :all: --require-hashes -r requirements.lock -d wheels
COPY . .
RUN pip install --quiet --no-index --find-links wheels hatchling \
 && python -m hatchling build -t wheel -d wheels \
 && python -m venv /opt/muster \
 && /opt/muster/bin/pip install --quiet --no-index --find-links wheels muster-scheduler \
 && /opt/muster/bin/pip uninstall --quiet --yes pip

FROM python:3.13-slim
COPY --from=build /opt/muster /opt/muster
# logs appear when they are written
ENV PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 10261
ENTRYPOINT ["/opt/muster/bin/muster"]
