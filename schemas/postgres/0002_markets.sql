create extension if not exists btree_gist;

create table market_sources (
  id text collate "C" primary key,
  account_id text collate "C",
  live_mode boolean,
  display_name text not null,
  currency_code text not null,
  area text,
  resolution_minutes integer check (resolution_minutes > 0),
  importer text,
  price_revision bigint not null default 0,
  time_created timestamptz not null,
  deleted_at timestamptz,
  check ((account_id is null) = (live_mode is null))
);
comment on table market_sources is 'Series of market prices. Without an account they are shared: the operator keeps them, all accounts may use them.';
comment on column market_sources.area is 'Market area such as AT, DE-LU, SE3; null for series of an account''s own.';
comment on column market_sources.resolution_minutes is 'Length in minutes of the intervals that the market publishes; null where they vary.';
comment on column market_sources.importer is 'Name of the importer that fills the series; null for series filled by requests.';
comment on column market_sources.price_revision is 'Raised in the transaction of every change of prices; a reader''s prices are current if they were read at this revision.';
comment on column market_sources.deleted_at is 'A deleted series keeps its prices: stored costs name them.';
create index market_sources_tenant on market_sources (account_id, live_mode, id);
create index market_sources_area on market_sources (area) where account_id is null and deleted_at is null;
alter table market_sources enable row level security;
alter table market_sources force row level security;
create policy visible on market_sources for select to wattledger_tenant
  using (account_id is null
    or account_id = current_setting('app.account_id', true) and live_mode = (current_setting('app.live_mode', true) = 'true'));
create policy tenant on market_sources to wattledger_tenant
  using (account_id = current_setting('app.account_id', true) and live_mode = (current_setting('app.live_mode', true) = 'true'));
create policy operator on market_sources to wattledger_operator using (true);
grant select, insert, update, delete on market_sources to wattledger_tenant, wattledger_operator;

create table market_prices (
  source_id text collate "C" not null references market_sources,
  published boolean not null,
  start_time timestamptz not null,
  end_time timestamptz not null,
  value numeric(18, 9) not null,
  primary key (source_id, published, start_time),
  check (start_time < end_time)
);
comment on table market_prices is 'Intervals of one source and one layer never overlap: they are written under a lock of their source. A source decides who may see its prices.';
comment on column market_prices.published is 'True: published by the market. False: a forecast that was handed in; where both exist the published one holds.';
comment on column market_prices.start_time is 'Inclusive.';
comment on column market_prices.end_time is 'Exclusive.';
comment on column market_prices.value is 'Major units of the source''s currency per kWh.';
alter table market_prices enable row level security;
alter table market_prices force row level security;
create policy visible on market_prices for select to wattledger_tenant using (source_id in (select id from market_sources));
create policy tenant on market_prices to wattledger_tenant
  using (source_id in (select id from market_sources where account_id = current_setting('app.account_id', true)));
create policy operator on market_prices to wattledger_operator using (true);
grant select, insert, update, delete on market_prices to wattledger_tenant, wattledger_operator;
