-- Everything of humanmcp lies in the schema `humanmcp`, so a database may hold other things, too.
-- A record is the JSON that the folder inbox has in the file of that name (docs/reference/folder.md).
-- `changed` is the number of the transaction that changed a row last: see postgres/following.py.

CREATE TABLE humanmcp.inboxes (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,                   -- '' is the inbox of desk and serve; a room has its own
    handshake_by_hand boolean NOT NULL DEFAULT false,
    letters int NOT NULL DEFAULT 0               -- how many letters were given
);

CREATE TABLE humanmcp.processes (                -- who runs sessions: the leases
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host text NOT NULL,
    pid int NOT NULL,
    seen timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- How long a lease counts: a setting of the database or of a connection may say it.
CREATE FUNCTION humanmcp.lease() RETURNS interval LANGUAGE sql STABLE AS $$
    SELECT coalesce(nullif(current_setting('humanmcp.lease', true), ''), '5 s')::interval
$$;

-- A process lives while it renews its lease. When the database itself was away nobody could: a
-- lease counts from the start of the database at the earliest. A lease that was renewed in the future
-- counts as little as an old one: the clock was set back.
CREATE FUNCTION humanmcp.lives(process bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM humanmcp.processes WHERE id = process
        AND (seen BETWEEN clock_timestamp() - humanmcp.lease()
                      AND clock_timestamp() + humanmcp.lease()
            OR pg_postmaster_start_time() BETWEEN clock_timestamp() - humanmcp.lease()
                                              AND clock_timestamp())
    )
$$;

CREATE TABLE humanmcp.sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    inbox int NOT NULL REFERENCES humanmcp.inboxes ON DELETE CASCADE,
    name text NOT NULL,
    http_id text NOT NULL,                       -- the Mcp-Session-Id of its client, '' for none
    visitor text NOT NULL DEFAULT '',            -- a digest of who comes without one
    facts text NOT NULL,                         -- the record of session.json
    negotiated text,                            -- the record of known.json
    holds text,                                  -- the record of holds.json
    probe boolean NOT NULL,
    letter int,                                  -- 0 is a; none while it is a probe
    owner bigint NOT NULL,                       -- the process that runs it
    ended boolean NOT NULL DEFAULT false,
    said int NOT NULL DEFAULT 0,                 -- the number of the last saying
    changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
    UNIQUE (inbox, name),
    UNIQUE (inbox, letter)
);
CREATE INDEX ON humanmcp.sessions (changed);
CREATE INDEX ON humanmcp.sessions (http_id) WHERE http_id <> '';
CREATE INDEX ON humanmcp.sessions (visitor) WHERE visitor <> '';
CREATE INDEX ON humanmcp.sessions (owner) WHERE NOT ended;

CREATE TABLE humanmcp.large (                    -- messages that lists must not carry along
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES humanmcp.sessions ON DELETE CASCADE,
    number bigint NOT NULL,
    record text NOT NULL
);
CREATE INDEX ON humanmcp.large (session, number);

-- A record of a message as its row keeps it: itself, or where it is large '@' and its row there.
CREATE FUNCTION humanmcp.keep(session bigint, number bigint, record text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE row_id bigint;
BEGIN
    IF octet_length(record) <= 65536 THEN RETURN record; END IF;
    INSERT INTO humanmcp.large (session, number, record) VALUES (session, number, record)
    RETURNING id INTO row_id;
    RETURN '@' || row_id;
END $$;

CREATE FUNCTION humanmcp.whole(kept text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN left(kept, 1) = '@'
        THEN (SELECT record FROM humanmcp.large WHERE id = substr(kept, 2)::bigint) ELSE kept END
$$;

CREATE TABLE humanmcp.exchanges (
    session bigint NOT NULL REFERENCES humanmcp.sessions ON DELETE CASCADE,
    number bigint NOT NULL CHECK (number > 0),
    state text NOT NULL DEFAULT 'pending',
    request text NOT NULL,                       -- the record of request.json, or '@'
    wait text NOT NULL,
    problems text,
    ending text,                                 -- the record of answer.json
    changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (session, number)
);
CREATE INDEX ON humanmcp.exchanges (changed);
CREATE INDEX ON humanmcp.exchanges (session) WHERE state = 'pending';

CREATE SEQUENCE humanmcp.order_of;               -- which text was written, and sent, before which

CREATE TABLE humanmcp.drafts (
    session bigint NOT NULL,
    number bigint NOT NULL,
    place bigint NOT NULL,                       -- 0: the draft; else a text that is kept beside it
    saved bigint NOT NULL,                       -- 0: the text that the person was started with
    record text NOT NULL,
    PRIMARY KEY (session, number, place),
    FOREIGN KEY (session, number) REFERENCES humanmcp.exchanges ON DELETE CASCADE
);

CREATE TABLE humanmcp.replies (                  -- the primary key lets one win
    session bigint NOT NULL,
    number bigint NOT NULL,
    sent bigint NOT NULL DEFAULT nextval('humanmcp.order_of'),
    record text NOT NULL,
    taken bigint,                                -- the process that claimed it
    PRIMARY KEY (session, number),
    FOREIGN KEY (session, number) REFERENCES humanmcp.exchanges ON DELETE CASCADE
);
CREATE INDEX ON humanmcp.replies (session) WHERE taken IS NULL;

CREATE UNLOGGED TABLE humanmcp.writers (          -- who writes an answer now; a crash may lose it
    inbox int NOT NULL REFERENCES humanmcp.inboxes ON DELETE CASCADE,
    page text NOT NULL,                          -- the window
    name text NOT NULL,
    session bigint NOT NULL REFERENCES humanmcp.sessions ON DELETE CASCADE,
    number bigint NOT NULL,
    seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (inbox, page)
);

CREATE TABLE humanmcp.sayings (
    session bigint NOT NULL REFERENCES humanmcp.sessions ON DELETE CASCADE,
    ticket int NOT NULL,
    record text NOT NULL,
    result text,
    PRIMARY KEY (session, ticket)
);
CREATE INDEX ON humanmcp.sayings (session) WHERE result IS NULL;

CREATE TABLE humanmcp.frames (                   -- the transcript
    session bigint NOT NULL REFERENCES humanmcp.sessions ON DELETE CASCADE,
    seq bigint NOT NULL,
    number bigint NOT NULL,
    record text NOT NULL,                        -- a line of transcript.jsonl, or '@'
    changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (session, seq)
);
CREATE INDEX ON humanmcp.frames (changed);
CREATE INDEX ON humanmcp.frames (session, number) WHERE number > 0;
