-- Receipts. Every row is a constant of its key, so that a repeated insert changes nothing.
CREATE TABLE IF NOT EXISTS meter_batches
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    batch_id FixedString(12) COMMENT 'bat_',
    records_submitted UInt32,
    records_accepted UInt32,
    received_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (account_id, live_mode, batch_id)
COMMENT 'Headers of submissions';

CREATE TABLE IF NOT EXISTS meter_batch_parts
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    batch_id FixedString(12) COMMENT 'bat_',
    chunk_id String COMMENT 'of the message that carried the records',
    records_handled UInt32 COMMENT 'records of the batch in the chunk, all stored or dead-lettered'
)
ENGINE = ReplacingMergeTree
ORDER BY (account_id, live_mode, batch_id, chunk_id)
COMMENT 'What of a submission is handled';

CREATE TABLE IF NOT EXISTS meter_batch_failures
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    batch_id FixedString(12) COMMENT 'bat_',
    record_number UInt32 COMMENT 'place in the submission, from 1',
    found_later Bool COMMENT 'true: accepted at first, so that it counts as handled but not as processed',
    record_reference_id String COMMENT 'empty: none',
    error String
)
ENGINE = ReplacingMergeTree
ORDER BY (account_id, live_mode, batch_id, record_number)
COMMENT 'Records of submissions that failed; never removed';
