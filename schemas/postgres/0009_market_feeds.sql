create table market_feeds (
  source_id text collate "C" primary key references market_sources,
  next_at timestamptz not null,
  attempted_at timestamptz,
  succeeded_at timestamptz,
  feed text,
  failures integer not null default 0,
  failing_since timestamptz,
  told_at timestamptz,
  error text
);
comment on table market_feeds is 'How fetching the prices of shared sources goes. A source that was never fetched has no row.';
comment on column market_feeds.next_at is 'When to fetch next.';
comment on column market_feeds.attempted_at is 'When it was last asked for, with success or without.';
comment on column market_feeds.succeeded_at is 'When a feed last answered with all prices that were due.';
comment on column market_feeds.feed is 'Name of the feed that last gave prices.';
comment on column market_feeds.failures is 'Attempts in a row that got no answer that can be used.';
comment on column market_feeds.failing_since is 'When the outage began: no answer, or prices that are overdue. Null while all is well.';
comment on column market_feeds.told_at is 'When accounts were told of this outage; null before, and while all is well.';
comment on column market_feeds.error is 'What went wrong last, for the operator; null while all is well.';
grant select, insert, update, delete on market_feeds to wattledger_operator;

alter table market_sources add column linked_at timestamptz;
comment on column market_sources.linked_at is 'When locations of the area that were there before the source had been given it; null before. Of no meaning for sources of accounts.';
