-- Whose record failed, so that an erasure finds what was said of it. Rows of before have neither.
ALTER TABLE meter_batch_failures
    ADD COLUMN IF NOT EXISTS location_id FixedString(12) COMMENT 'loc_; zeros: unknown',
    ADD COLUMN IF NOT EXISTS device_id FixedString(12) COMMENT 'dev_; zeros: none, or unknown';
