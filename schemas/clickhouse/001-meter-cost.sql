-- One row per record identity; rows of equal key replace each other by version. Read with FINAL and the key bound.
-- Ids are the 12 bytes behind their prefix. Key columns are functions of the identity and never change.
CREATE TABLE IF NOT EXISTS meter_cost
(
    account_id FixedString(12) COMMENT 'acc_' CODEC(ZSTD(1)),
    live_mode Bool COMMENT 'false: test mode' CODEC(ZSTD(1)),
    location_id FixedString(12) COMMENT 'loc_' CODEC(ZSTD(1)),
    device_id FixedString(12) COMMENT 'dev_; zero bytes: a record of the location itself' CODEC(ZSTD(1)),
    energy_flow_direction Enum8('INBOUND' = 0, 'OUTBOUND' = 1) CODEC(ZSTD(1)),
    tariff_direction Enum8('IMPORT' = 0, 'EXPORT' = 1, 'LOCAL' = 2) CODEC(ZSTD(1)),
    start_time DateTime64(3, 'UTC') COMMENT 'inclusive' CODEC(DoubleDelta, ZSTD(1)),
    record_id FixedString(12) COMMENT 'mre_, a hash of the identity' CODEC(NONE),
    end_time DateTime64(3, 'UTC') COMMENT 'exclusive; the start again for an impulse' CODEC(DoubleDelta, ZSTD(1)),
    session_reference_id String COMMENT 'empty: none' CODEC(ZSTD(1)),
    record_reference_id String COMMENT 'empty: none' CODEC(ZSTD(1)),
    energy Decimal(18, 6) COMMENT 'Wh that are costed' CODEC(T64, ZSTD(1)),
    energy_submitted Nullable(Decimal(18, 6)) COMMENT 'Wh as submitted, where actuals cut an estimate; null: energy' CODEC(ZSTD(1)),
    record_confidence UInt32 COMMENT 'of the record, in 1e-6' CODEC(T64, ZSTD(1)),
    status Enum8('PRICED' = 0, 'PROVISIONAL' = 1, 'UNPRICED' = 2) COMMENT 'PROVISIONAL: part of the price may still change' CODEC(ZSTD(1)),
    cost Nullable(Decimal(38, 9)) COMMENT 'major units; null: UNPRICED' CODEC(ZSTD(1)),
    currency FixedString(3) CODEC(ZSTD(1)),
    confidence UInt32 COMMENT 'of the price, energy-weighted over the pieces, in 1e-6' CODEC(T64, ZSTD(1)),
    price Decimal(18, 9) COMMENT 'major units per kWh of the only piece; 0 where there are more' CODEC(ZSTD(1)),
    tier Decimal(18, 6) COMMENT 'lower bound in Wh of the tier of the only piece; 0 where there are more' CODEC(ZSTD(1)),
    pieces Nested
    (
        start_time DateTime64(3, 'UTC'),
        energy Decimal(18, 6),
        price Decimal(18, 9),
        tier Decimal(18, 6),
        cost Decimal(38, 9),
        confidence UInt32
    ) COMMENT 'contiguous, in order, units as above; empty unless there is more than one' CODEC(ZSTD(1)),
    tariff_ids Array(FixedString(12)) COMMENT 'trf_, whose prices were used' CODEC(ZSTD(1)),
    market_source_ids Array(FixedString(12)) COMMENT 'mrs_, whose prices were used' CODEC(ZSTD(1)),
    pricing_revision UInt32 COMMENT 'of the location' CODEC(T64, ZSTD(1)),
    price_revision UInt64 COMMENT 'the highest of the market sources used; 0: none' CODEC(T64, ZSTD(1)),
    batch_id FixedString(12) COMMENT 'bat_; zero bytes: came alone' CODEC(ZSTD(1)),
    version UInt64 COMMENT 'generation (10 bits), offset (38), position (16) of the message that caused this row' CODEC(Delta, ZSTD(1)),
    version_lead UInt64 COMMENT 'version less source_version: 0 unless an order or a neighbour caused the row' CODEC(T64, ZSTD(1)),
    source_version UInt64 ALIAS version - version_lead COMMENT 'version of the message that brought the inputs',
    received_at DateTime64(3, 'UTC') COMMENT 'when the gateway took the record' CODEC(Delta, ZSTD(1)),
    inserted_at DateTime('UTC') DEFAULT now() CODEC(Delta, ZSTD(1)),
    is_deleted UInt8 DEFAULT 0 COMMENT '1: the row is withdrawn' CODEC(ZSTD(1)),
    INDEX by_record_id record_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_record_reference record_reference_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_session_reference session_reference_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(start_time)
PRIMARY KEY (account_id, live_mode, location_id, toDate(start_time), device_id)
ORDER BY (account_id, live_mode, location_id, toDate(start_time), device_id, energy_flow_direction, tariff_direction, start_time, record_id)
COMMENT 'What each record cost and why';
