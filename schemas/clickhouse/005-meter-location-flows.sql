-- Which flows of energy a location has records of, its own and those of its devices. A helper may name too much, never too little: a row
-- whose record was cancelled since stays. A cancelled record (energy 0 as submitted) adds none.
CREATE TABLE IF NOT EXISTS meter_location_flows
(
    account_id FixedString(12) COMMENT 'acc_',
    live_mode Bool,
    location_id FixedString(12) COMMENT 'loc_',
    energy_flow_direction Enum8('INBOUND' = 0, 'OUTBOUND' = 1),
    tariff_direction Enum8('IMPORT' = 0, 'EXPORT' = 1, 'LOCAL' = 2),
    is_device Bool COMMENT 'true: records of its devices; false: its own',
    last_start SimpleAggregateFunction(max, DateTime64(3, 'UTC')) COMMENT 'of those records'
)
ENGINE = AggregatingMergeTree
ORDER BY (account_id, live_mode, location_id, energy_flow_direction, tariff_direction, is_device)
COMMENT 'Whether locations have records of their own and of devices';

CREATE MATERIALIZED VIEW IF NOT EXISTS meter_location_flows_view TO meter_location_flows AS
SELECT account_id, live_mode, location_id, energy_flow_direction, tariff_direction, device_id != toFixedString('', 12) AS is_device, max(start_time) AS last_start
FROM meter_cost
WHERE (energy > 0 OR energy_submitted > 0) AND is_deleted = 0
GROUP BY account_id, live_mode, location_id, energy_flow_direction, tariff_direction, is_device;

-- What was stored before the view was; repeats change nothing.
INSERT INTO meter_location_flows
SELECT account_id, live_mode, location_id, energy_flow_direction, tariff_direction, device_id != toFixedString('', 12) AS is_device, max(start_time) AS last_start
FROM meter_cost
WHERE (energy > 0 OR energy_submitted > 0) AND is_deleted = 0
GROUP BY account_id, live_mode, location_id, energy_flow_direction, tariff_direction, is_device;
