-- Register readings that replaced a stored reading with another value. A row is written before the reading that it is about; a repeat writes
-- the same row.
CREATE TABLE IF NOT EXISTS meter_replaced_readings
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool COMMENT 'false: test mode',
    batch_id FixedString(12) COMMENT 'bat_',
    record_number UInt32 COMMENT 'of the reading in its batch, from 1',
    location_id FixedString(12) COMMENT 'loc_',
    device_id FixedString(12) COMMENT 'dev_; zero bytes: a register of the location itself'
)
ENGINE = ReplacingMergeTree
ORDER BY (account_id, live_mode, batch_id, record_number)
COMMENT 'Readings that a receipt counts as replaced';
