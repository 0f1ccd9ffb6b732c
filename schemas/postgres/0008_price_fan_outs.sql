create table price_fan_outs (
  source_id text collate "C" not null references market_sources,
  revision bigint not null,
  from_time timestamptz not null,
  to_time timestamptz not null,
  cursor text collate "C" not null default '',
  page integer not null default 0,
  locations_done bigint not null default 0,
  locations_total bigint,
  turn_at timestamptz not null,
  primary key (source_id, revision),
  check (from_time < to_time)
);
comment on table price_fan_outs is 'Price changes whose locations are still to be told, page by page; a row goes with its last page. Written in the transaction of the change. A source decides who may write.';
comment on column price_fan_outs.revision is 'The source''s price_revision that the change has made. Changes of one source are worked in this order.';
comment on column price_fan_outs.from_time is 'Start of what is priced again; inclusive.';
comment on column price_fan_outs.to_time is 'Exclusive.';
comment on column price_fan_outs.cursor is 'Id of the last location that was told; empty before the first page.';
comment on column price_fan_outs.page is 'Pages done.';
comment on column price_fan_outs.locations_total is 'Locations that the source priced when the first page was done; null before.';
comment on column price_fan_outs.turn_at is 'When the last page was done, or the change was made. The source that waits longest is next; events of the next page bear this time, so that a repeat makes the same ones.';
create index price_fan_outs_turn on price_fan_outs (turn_at);
alter table price_fan_outs enable row level security;
alter table price_fan_outs force row level security;
create policy tenant on price_fan_outs for insert to wattledger_tenant
  with check (source_id in (select id from market_sources where account_id = current_setting('app.account_id', true)));
create policy operator on price_fan_outs to wattledger_operator using (true);
grant insert on price_fan_outs to wattledger_tenant;
grant select, insert, update, delete on price_fan_outs to wattledger_operator;
alter table price_fan_outs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
