-- Where to look in meter_cost. Bounds only widen and repeats change nothing: a helper may name too much, never too little.
CREATE TABLE IF NOT EXISTS meter_device_locations
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    device_id FixedString(12) COMMENT 'dev_; zero bytes: the location itself',
    location_id FixedString(12) COMMENT 'loc_',
    first_start SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_end SimpleAggregateFunction(max, DateTime64(3, 'UTC')),
    last_received SimpleAggregateFunction(max, DateTime64(3, 'UTC')),
    INDEX by_location location_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (account_id, live_mode, device_id, location_id)
COMMENT 'Devices and locations themselves: where they were metered, and when';

CREATE MATERIALIZED VIEW IF NOT EXISTS meter_device_locations_view TO meter_device_locations AS
SELECT account_id, live_mode, device_id, location_id, min(start_time) AS first_start, max(end_time) AS last_end, max(received_at) AS last_received
FROM meter_cost
GROUP BY account_id, live_mode, device_id, location_id;

CREATE TABLE IF NOT EXISTS meter_sessions
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    session_reference_id String,
    location_id FixedString(12) COMMENT 'loc_',
    device_id FixedString(12) COMMENT 'dev_; zero bytes: the location itself',
    first_start SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_end SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (account_id, live_mode, session_reference_id, location_id, device_id)
COMMENT 'Bounds and places of sessions';

CREATE MATERIALIZED VIEW IF NOT EXISTS meter_sessions_view TO meter_sessions AS
SELECT account_id, live_mode, session_reference_id, location_id, device_id, min(start_time) AS first_start, max(end_time) AS last_end
FROM meter_cost
WHERE session_reference_id != ''
GROUP BY account_id, live_mode, session_reference_id, location_id, device_id;

CREATE TABLE IF NOT EXISTS meter_estimates
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    location_id FixedString(12) COMMENT 'loc_',
    device_id FixedString(12) COMMENT 'dev_; zero bytes: the location itself',
    first_start SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_end SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (account_id, live_mode, location_id, device_id)
COMMENT 'Devices and locations that have or had estimates';

CREATE MATERIALIZED VIEW IF NOT EXISTS meter_estimates_view TO meter_estimates AS
SELECT account_id, live_mode, location_id, device_id, min(start_time) AS first_start, max(end_time) AS last_end
FROM meter_cost
WHERE record_confidence < 1000000
GROUP BY account_id, live_mode, location_id, device_id;

CREATE TABLE IF NOT EXISTS meter_long_rows
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    location_id FixedString(12) COMMENT 'loc_',
    start_date Date COMMENT 'UTC day of the start, as in the key of meter_cost',
    last_end SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (account_id, live_mode, location_id, start_date)
COMMENT 'Days on which rows longer than a day start';

CREATE MATERIALIZED VIEW IF NOT EXISTS meter_long_rows_view TO meter_long_rows AS
SELECT account_id, live_mode, location_id, toDate(start_time) AS start_date, max(end_time) AS last_end
FROM meter_cost
WHERE end_time > start_time + INTERVAL 1 DAY
GROUP BY account_id, live_mode, location_id, start_date;
