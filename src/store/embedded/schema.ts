/** `PRAGMA application_id` of our files, so that no other program's database is written to. */
export const APPLICATION_ID = 0x43_53_4e_31;

/** The version of {@link SCHEMA} (`PRAGMA user_version`). A file with another one is not opened. */
export const SCHEMA_VERSION = 1;

/**
 * `journal.id` ascends over all sources and `journal.at_ms` never descends with it, so the order by time is
 * the order by id. The table `tally` has the number of entries of each journal.
 */
export const SCHEMA = `
  CREATE TABLE control (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL,
    revision TEXT NOT NULL,
    prices INTEGER NOT NULL,
    at_ms INTEGER NOT NULL
  ) STRICT;
  INSERT INTO control VALUES (1, 0, '', 0, 0);

  CREATE TABLE release (revision TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;

  CREATE TABLE history (
    sequence INTEGER PRIMARY KEY,
    revision TEXT NOT NULL,
    by TEXT NOT NULL,
    message TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    serial INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE subject (
    source TEXT NOT NULL,
    subject TEXT NOT NULL,
    record TEXT NOT NULL,
    changed_ms INTEGER NOT NULL,
    PRIMARY KEY (source, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX subject_by_change ON subject (changed_ms);

  CREATE TABLE counter (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    total TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (source, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX counter_by_expiry ON counter (expires_ms);

  CREATE TABLE bucket (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    end_ms INTEGER NOT NULL,
    amount TEXT NOT NULL,
    PRIMARY KEY (source, key, end_ms)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE list (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    UNIQUE (source, name)
  ) STRICT;

  CREATE TABLE list_entry (
    list INTEGER NOT NULL,
    value TEXT NOT NULL,
    added_ms INTEGER NOT NULL,
    PRIMARY KEY (list, value)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    type TEXT NOT NULL,
    subject TEXT NOT NULL,
    verdict TEXT NOT NULL,
    code TEXT NOT NULL,
    revision TEXT NOT NULL,
    of TEXT NOT NULL,
    claims TEXT NOT NULL,
    detail TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_by_time ON journal (source, at_ms);
  CREATE INDEX journal_by_subject ON journal (source, subject);

  CREATE TABLE tally (source TEXT PRIMARY KEY, entries INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER journal_grows AFTER INSERT ON journal BEGIN
    INSERT INTO tally VALUES (NEW.source, 1) ON CONFLICT (source) DO UPDATE SET entries = entries + 1;
  END;
  CREATE TRIGGER journal_shrinks AFTER DELETE ON journal BEGIN
    UPDATE tally SET entries = entries - 1 WHERE source = OLD.source;
  END;

  CREATE TABLE price (
    asset TEXT PRIMARY KEY,
    price TEXT NOT NULL,
    as_of_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE price_history (
    version INTEGER PRIMARY KEY,
    change TEXT NOT NULL,
    at_ms INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE mark (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    made_ms INTEGER NOT NULL,
    claimed_ms INTEGER NOT NULL,
    PRIMARY KEY (source, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX mark_by_claim ON mark (claimed_ms);

  CREATE TABLE expected_order (
    source TEXT NOT NULL,
    subject TEXT NOT NULL,
    members TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    by TEXT NOT NULL,
    announced_ms INTEGER NOT NULL,
    ended TEXT NOT NULL CHECK (ended IN ('', 'used', 'cancelled')),
    ended_ms INTEGER NOT NULL,
    PRIMARY KEY (source, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX expected_order_by_expiry ON expected_order (expires_ms);

  -- The clock, as the last process compared it with the store's time: see time.ts.
  -- now_ms: the store's time when it was last compared.
  -- kept: 0 until a service has compared the clock.
  -- witness: the id of the kernel's count of elapsed time when the clock was last right (see Elapsed).
  -- witness_elapsed_ms, witness_clock_ms: that count and the clock, at the same moment.
  -- held_ms: the clock when a jump ahead was first found; NULL while there is no jump.
  -- held_ahead_ms: the most that the clock was found ahead during the jump; NULL while there is none.
  CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    now_ms INTEGER NOT NULL,
    kept INTEGER NOT NULL,
    witness TEXT NOT NULL,
    witness_elapsed_ms INTEGER NOT NULL,
    witness_clock_ms INTEGER NOT NULL,
    held_ms INTEGER,
    held_ahead_ms INTEGER
  ) STRICT;
  INSERT INTO clock VALUES (1, 0, 0, '', 0, 0, NULL, NULL);

  -- The last heartbeat of each service.
  -- sequence: that of the Control which the service follows.
  -- answered: the last request for heartbeats that the service had read, a number of service_call.
  -- trouble: why the service is not ready; empty if it is ready.
  -- probe: a long text that shows that the disk has room, or the empty text.
  CREATE TABLE service (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    trouble TEXT NOT NULL,
    probe TEXT NOT NULL,
    at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The number of the last request for heartbeats.
  CREATE TABLE service_call (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL) STRICT;
  INSERT INTO service_call VALUES (1, 0);

  -- id: the number in f7. lifted_in: the sequence of the unfreeze.
  CREATE TABLE freeze (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    by TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    lifted_by TEXT,
    lifted_ms INTEGER,
    lifted_in INTEGER
  ) STRICT;
  CREATE INDEX freeze_in_effect ON freeze (id) WHERE lifted_ms IS NULL;

  CREATE TABLE source (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

  -- A value counts in its counter until until_ms.
  CREATE TABLE distinct_value (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (source, key, value)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX distinct_value_by_end ON distinct_value (until_ms);

  -- A refusal counts until until_ms. A lock-out ends at until_ms; 0: when it is lifted.
  CREATE TABLE refusal (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    subject TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (source, key, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX refusal_by_end ON refusal (until_ms);

  CREATE TABLE lockout (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    policy TEXT NOT NULL,
    whose TEXT NOT NULL,
    refusals INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (source, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX lockout_by_end ON lockout (until_ms);

  -- until_ms 0: for ever.
  CREATE TABLE access (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    until_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX access_by_end ON access (until_ms);

  -- scope: a source, or empty for all sources. place: that among the open requests; 0 if it is not open.
  -- used_by: the journal entry of the approval that used it; empty if none did.
  CREATE TABLE approval_request (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    place INTEGER NOT NULL,
    used_by TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX approval_request_open ON approval_request (scope, place) WHERE place > 0;
  CREATE INDEX approval_request_unused ON approval_request (until_ms) WHERE used_by = '';
  CREATE INDEX approval_request_used ON approval_request (until_ms) WHERE used_by <> '';
`;
