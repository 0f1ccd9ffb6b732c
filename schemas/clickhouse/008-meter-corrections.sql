-- Values of a record before it was sent again with another value or confidence. A row is written before the row of meter_cost that it is
-- about; a repeat writes the same row.
CREATE TABLE IF NOT EXISTS meter_corrections
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool COMMENT 'false: test mode',
    correction_id FixedString(12) COMMENT 'mco_, ascends with the arrival of the correction',
    record_id FixedString(12) COMMENT 'mre_',
    location_id FixedString(12) COMMENT 'loc_',
    device_id FixedString(12) COMMENT 'dev_; zero bytes: a record of the location itself',
    start_time DateTime64(3, 'UTC') COMMENT 'of the record, inclusive',
    end_time DateTime64(3, 'UTC') COMMENT 'of the record, exclusive',
    energy_before Decimal(18, 6) COMMENT 'Wh as submitted before',
    confidence_before UInt32 COMMENT 'in 1e-6',
    batch_before FixedString(12) COMMENT 'bat_; zero bytes: came alone',
    received_before DateTime64(3, 'UTC') COMMENT 'when the gateway took the record before',
    energy_after Decimal(18, 6) COMMENT 'Wh as submitted by the correction; 0 cancels the record',
    confidence_after UInt32 COMMENT 'in 1e-6',
    batch_after FixedString(12) COMMENT 'bat_; zero bytes: came alone',
    received_after DateTime64(3, 'UTC') COMMENT 'when the gateway took the correction',
    INDEX by_record record_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_location location_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_device device_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (account_id, live_mode, correction_id)
COMMENT 'Values that records had before they were corrected';
