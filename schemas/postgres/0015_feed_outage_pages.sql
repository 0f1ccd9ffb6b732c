alter table market_feeds add column told_cursor text collate "C";
comment on column market_feeds.told_cursor is
  'Id of the last location whose accounts were told of this outage: telling goes on behind it. Null before the first page, and while all is well.';
comment on column price_fan_outs.turn_at is
  'When the last page was done, or the change was made. The source that waits longest is next.';
