-- Submissions of imports and of their undos, for an undo within a day.
CREATE TABLE IF NOT EXISTS meter_import_batches
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool COMMENT 'false: test mode',
    import_id String COMMENT 'id that the caller gave the import',
    batch_id FixedString(12) COMMENT 'bat_',
    is_undo Bool COMMENT 'true: submission of the undo of the import',
    records_accepted UInt32,
    received_at DateTime64(3, 'UTC') COMMENT 'when the gateway took the submission'
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(received_at)
ORDER BY (account_id, live_mode, import_id, batch_id)
TTL toDateTime(received_at) + INTERVAL 48 HOUR
SETTINGS ttl_only_drop_parts = 1
COMMENT 'Submissions of imports';

-- Values that an import replaced. One row per record or register reading of an import whose identity was stored before, also with equal
-- values. A row is written before the row that it is about; a repeat writes the same row.
CREATE TABLE IF NOT EXISTS meter_earlier_values
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool COMMENT 'false: test mode',
    location_id FixedString(12) COMMENT 'loc_',
    start_time DateTime64(3, 'UTC') COMMENT 'start of the record, or time of the reading',
    record_id FixedString(12) COMMENT 'mre_ of the record, or of the interval that the reading opens',
    is_restart Bool COMMENT 'true: reading that begins a new meter',
    batch_id FixedString(12) COMMENT 'bat_, the submission of the import',
    device_id FixedString(12) COMMENT 'dev_; zero bytes: none',
    batch_before FixedString(12) COMMENT 'bat_; zero bytes: came alone',
    value_before Decimal(19, 6) COMMENT 'Wh as submitted before',
    confidence_before UInt32 COMMENT 'in 1e-6; 0: a register reading',
    is_withdrawn_before Bool COMMENT 'true: the reading had no value',
    session_before String COMMENT 'session reference of the reading; empty: none',
    record_reference_before String COMMENT 'record reference of the reading; empty: none',
    source_version UInt64 COMMENT 'of the record or reading of the import',
    received_at DateTime64(3, 'UTC') COMMENT 'when the gateway took the submission'
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(received_at)
ORDER BY (account_id, live_mode, location_id, start_time, record_id, is_restart, batch_id)
TTL toDateTime(received_at) + INTERVAL 48 HOUR
SETTINGS ttl_only_drop_parts = 1
COMMENT 'Values before imports, for their undo';
