-- Several processes behind one address: who of them runs a session, and where that one is reached.

ALTER TABLE humanmcp.processes
    ADD COLUMN address text NOT NULL DEFAULT '',  -- where the other processes reach it, '' for nowhere
    ADD COLUMN secret text NOT NULL DEFAULT '';   -- what they say to it, so that it knows them

ALTER TABLE humanmcp.sessions
    ADD COLUMN visitor text NOT NULL DEFAULT '';  -- a digest of who comes without an Mcp-Session-Id
CREATE INDEX ON humanmcp.sessions (visitor) WHERE visitor <> '';

CREATE TABLE humanmcp.shared (                   -- what all desks share: who is logged in
    name text PRIMARY KEY,
    record text NOT NULL DEFAULT ''
);

-- How long a lease counts.
CREATE FUNCTION humanmcp.lease() RETURNS interval LANGUAGE sql STABLE AS $$
    SELECT coalesce(nullif(current_setting('humanmcp.lease', true), ''), '5 s')::interval
$$;

CREATE OR REPLACE FUNCTION humanmcp.lives(process bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM humanmcp.processes WHERE id = process
        AND greatest(seen, pg_postmaster_start_time()) > clock_timestamp() - humanmcp.lease()
    )
$$;
