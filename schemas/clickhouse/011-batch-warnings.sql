-- Warnings about accepted records of a submission, known at arrival. The three lists have one entry for each warning.
ALTER TABLE meter_batches
    ADD COLUMN IF NOT EXISTS warning_codes Array(String) COMMENT 'implausible_energy, overlapping_records',
    ADD COLUMN IF NOT EXISTS warning_records Array(UInt32) COMMENT 'number of records with the warning',
    ADD COLUMN IF NOT EXISTS warning_numbers Array(Array(UInt32)) COMMENT 'places of the first 100 of them in the submission, from 1';
