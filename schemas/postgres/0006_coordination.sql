create table idempotency_keys (
  account_id text collate "C" not null,
  live_mode boolean not null,
  key text collate "C" not null,
  request_hash text not null,
  token text not null,
  started_at timestamptz not null,
  answer json,
  primary key (account_id, live_mode, key)
);
comment on column idempotency_keys.request_hash is 'Hash of operation and body: the same key with another request is refused.';
comment on column idempotency_keys.token is 'Names the attempt that runs; one that was taken over can no longer finish.';
comment on column idempotency_keys.answer is 'What was answered; null while the attempt runs.';
create index idempotency_keys_started on idempotency_keys (started_at);
call protect_tenant_table('idempotency_keys');

create table leases (
  name text collate "C" primary key,
  holder text not null,
  epoch bigint not null,
  expires_at timestamptz not null
);
comment on table leases is 'Who alone may do a thing at present, by the clock of this database.';
comment on column leases.epoch is 'Goes up with every change of holder: what an earlier holder still writes can be told apart.';
grant select, insert, update, delete on leases to wattledger_operator;

create table lane_generations (
  topic text collate "C" primary key,
  generation integer not null check (generation between 0 and 1023),
  partitions integer not null check (partitions > 0),
  time_updated timestamptz not null
);
comment on column lane_generations.generation is 'Leads the version of every stored cost row; goes up when the topic is made anew or its partitions change. 10 bits.';
grant select, insert, update, delete on lane_generations to wattledger_operator;
