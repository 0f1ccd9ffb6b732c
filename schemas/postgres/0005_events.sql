create table events (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  type text not null,
  object_id text collate "C",
  data json not null,
  time_created timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on table events is 'Kept for 90 days, for reading over the interface.';
comment on column events.data is 'The object after the change, as text: its members keep their order and its numbers their digits.';
create index events_object on events (object_id, account_id, live_mode, id);
create index events_type on events (type, account_id, live_mode, id);
create index events_time on events using brin (time_created);
call protect_tenant_table('events');

create table outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  key text not null,
  account_id text collate "C",
  live_mode boolean,
  payload json not null,
  time_created timestamptz not null
);
comment on table outbox is 'Messages that a committed change owes the log. Taken without a cursor and deleted by id once published, so that a late commit is never passed over. Without an account: the change is of something shared.';
call protect_tenant_table('outbox');
alter table outbox set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
