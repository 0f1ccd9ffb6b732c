-- One row per register reading; a reading of the same identity that came later replaces it. Read with FINAL and the key bound.
-- Small granules: a step looks up the neighbours of single instants in many registers. The highest register takes 19 digits.
CREATE TABLE IF NOT EXISTS meter_readings
(
    account_id FixedString(12) COMMENT 'acc_' CODEC(ZSTD(1)),
    live_mode Bool COMMENT 'false: test mode' CODEC(ZSTD(1)),
    location_id FixedString(12) COMMENT 'loc_' CODEC(ZSTD(1)),
    device_id FixedString(12) COMMENT 'dev_; zero bytes: a register of the location itself' CODEC(ZSTD(1)),
    energy_flow_direction Enum8('INBOUND' = 0, 'OUTBOUND' = 1) CODEC(ZSTD(1)),
    tariff_direction Enum8('IMPORT' = 0, 'EXPORT' = 1, 'LOCAL' = 2) CODEC(ZSTD(1)),
    time DateTime64(3, 'UTC') COMMENT 'of the reading' CODEC(DoubleDelta, ZSTD(1)),
    value Decimal(19, 6) COMMENT 'Wh that the register showed' CODEC(ZSTD(1)),
    record_id FixedString(12) COMMENT 'mre_ of the interval that the reading opens, a hash of the identity' CODEC(NONE),
    session_reference_id String COMMENT 'empty: none' CODEC(ZSTD(1)),
    record_reference_id String COMMENT 'empty: none' CODEC(ZSTD(1)),
    batch_id FixedString(12) COMMENT 'bat_; zero bytes: came alone' CODEC(ZSTD(1)),
    record_number UInt32 COMMENT 'place in the submission, from 1' CODEC(T64, ZSTD(1)),
    version UInt64 COMMENT 'generation (10 bits), offset (38), position (16) of the message that caused this row' CODEC(Delta, ZSTD(1)),
    source_version UInt64 COMMENT 'the same of the message that first brought the reading' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(3, 'UTC') COMMENT 'when the gateway took the reading' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYear(time)
ORDER BY (account_id, live_mode, location_id, device_id, energy_flow_direction, tariff_direction, time)
SETTINGS index_granularity = 512
COMMENT 'Register readings, each the base of the next';
