-- An agent's prompts: each belongs to a process of its own, and the session to none.
ALTER TABLE humanmcp.sessions
    ADD COLUMN shared boolean NOT NULL DEFAULT false, -- its exchanges have owners
    ADD COLUMN entered bigint NOT NULL DEFAULT 0;     -- the last number that was given to one
ALTER TABLE humanmcp.exchanges ADD COLUMN owner bigint; -- the process that waits for it

-- The state of an exchange: one whose own process is gone is abandoned.
CREATE FUNCTION humanmcp.state_of(state text, owner bigint) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN state = 'pending' AND owner IS NOT NULL AND NOT humanmcp.lives(owner)
        THEN 'abandoned' ELSE state END
$$;
