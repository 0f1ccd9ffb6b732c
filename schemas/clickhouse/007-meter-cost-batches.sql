-- Rows of a submission: batch ids ascend with time, and most records arrive soon after they start. Parts written before have no index yet;
-- they are read whole until they are merged.
ALTER TABLE meter_cost ADD INDEX IF NOT EXISTS by_batch batch_id TYPE minmax GRANULARITY 1;
