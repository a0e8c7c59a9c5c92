-- The sessions of agents that were forgotten: their names never come again.
CREATE TABLE humanmcp.forgotten (
    inbox int NOT NULL REFERENCES humanmcp.inboxes ON DELETE CASCADE,
    name text NOT NULL,
    PRIMARY KEY (inbox, name)
);
