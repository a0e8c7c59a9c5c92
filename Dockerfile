# For a room or a continuous integration without Python: the server that a host starts.
#   docker run --rm --interactive --volume ~/.humanmcp:/inbox humanmcp
# The page and the terminal of your own computer find what waits in the same folder.
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN python -m venv /opt/humanmcp \
    && /opt/humanmcp/bin/pip install --no-cache-dir --require-hashes --requirement tools/locked/run.txt \
    && /opt/humanmcp/bin/pip install --no-cache-dir --no-deps .

FROM python:3.13-slim
LABEL io.modelcontextprotocol.server.name="io.github.OWNER/humanmcp"
RUN useradd --create-home --uid 1000 person && install --directory --owner person --mode 700 /inbox
COPY --from=build /opt/humanmcp /opt/humanmcp
ENV PATH="/opt/humanmcp/bin:$PATH" HUMANMCP_HOME=/inbox
VOLUME /inbox
USER 1000
ENTRYPOINT ["humanmcp"]
CMD ["serve", "--handshake", "book"]
