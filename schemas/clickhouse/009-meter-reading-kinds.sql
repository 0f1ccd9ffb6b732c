-- The last reading of a meter and the first reading of the next meter can have one instant.
ALTER TABLE meter_readings
    ADD COLUMN IF NOT EXISTS is_restart Bool COMMENT 'true: first reading of a new meter',
    MODIFY ORDER BY (account_id, live_mode, location_id, device_id, energy_flow_direction, tariff_direction, time, is_restart);
ALTER TABLE meter_readings
    ADD COLUMN IF NOT EXISTS is_withdrawn Bool COMMENT 'true: the reading has no value, and does not count',
    ADD COLUMN IF NOT EXISTS is_doubtful Bool COMMENT 'true: left out as a base, unless a later reading decides otherwise';
