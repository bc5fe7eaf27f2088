# The base can be named by digest, as releases do; tests hand over a stand-in of this name where no registry answers.
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BASE} AS dependencies
WORKDIR /build
# pip itself stays outside of the environment that goes into the image; nothing is compiled from sources. The tests
# that numpy and scipy bring along are a fifth of all.
COPY requirements.lock requirements-image.lock ./
RUN python3 -m venv --without-pip /opt/repeat-eval \
    && python3 -m pip --python /opt/repeat-eval/bin/python install --no-cache-dir --disable-pip-version-check \
        --root-user-action ignore --only-binary :all: --require-hashes -q \
        -r requirements.lock -r requirements-image.lock \
    && find /opt/repeat-eval/lib -type d -path '*/site-packages/*' -name tests -prune -exec rm -r {} +

FROM dependencies AS build
COPY requirements-build.lock ./
RUN python3 -m venv --without-pip /build/tools \
    && python3 -m pip --python /build/tools/bin/python install --no-cache-dir --disable-pip-version-check \
        --root-user-action ignore --only-binary :all: --require-hashes -q -r requirements-build.lock
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY src src
# Modules and templates are compiled here once: a container has no time to do it at every start.
RUN /build/tools/bin/python -m hatchling build -t wheel -d dist \
    && python3 -m pip --python /opt/repeat-eval/bin/python install --no-cache-dir --disable-pip-version-check \
        --root-user-action ignore --no-deps --no-index -q dist/*.whl \
    && /opt/repeat-eval/bin/python -I -c "\
from repeat_eval.reports.markdown_templates import TEMPLATES, load_template; \
[load_template(file.name) for file in sorted(TEMPLATES.glob('*.j2'))]" \
    && mkdir /build/ours \
    && cp -a --parents /opt/repeat-eval/bin/repeat-eval /opt/repeat-eval/lib/python3*/site-packages/repeat_eval* \
        /build/ours

FROM ${BASE}
# git: base's files are fetched with it. The workspace belongs to another user than ours, which git would refuse.
# No program of the image may change to another user: the code under test runs as the workspace's owner.
# hadolint ignore=DL3008
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*.log /var/log/apt \
    && git config --system --add safe.directory '*' \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
    && ln -s /opt/repeat-eval/bin/repeat-eval /opt/repeat-eval/bin/uv /usr/local/bin/
COPY --from=dependencies /opt/repeat-eval /opt/repeat-eval
# What changes with every version is a small layer of its own.
COPY --from=build /build/ours /

ARG VERSION=0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="repeat-eval" \
      org.opencontainers.image.description="Repeated evaluation of LLM systems with honest statistics" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# -I: the job's PYTHONPATH, PYTHONHOME and the like are for the code under test, not for us.
# No USER: GitHub requires root for actions. The code under test runs as the workspace's owner.
ENTRYPOINT ["/opt/repeat-eval/bin/python", "-I", "-m", "repeat_eval.action"]
