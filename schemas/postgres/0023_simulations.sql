create table simulations (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  request_hash text collate "C" not null,
  request text not null,
  location_count integer not null,
  done_count integer not null default 0,
  next_day integer,
  sums text,
  refusal json,
  status text not null check (status in ('PENDING', 'DONE', 'FAILED')),
  time_created timestamptz not null,
  primary key (account_id, live_mode, id)
);
comment on table simulations is 'Simulations too large for an immediate answer; removed a day after their creation.';
comment on column simulations.request_hash is 'SHA-256 of the request, in hex. A request that is being calculated is not accepted twice.';
comment on column simulations.request is 'JSON of the locations, days, candidates and options: services/query-service/simulations/simulation-job.ts.';
comment on column simulations.done_count is 'Number of locations that are completely calculated, in the order of the request.';
comment on column simulations.next_day is 'Day number from which the next location continues; null: from its first day.';
comment on column simulations.sums is 'JSON of the bills of the calculated locations; null before the first.';
comment on column simulations.refusal is 'Reason of the status FAILED.';
create unique index simulations_pending_once on simulations (account_id, live_mode, request_hash) where status = 'PENDING';
create index simulations_pending on simulations (account_id, id) where status = 'PENDING';
create index simulations_expiry on simulations (time_created);
call protect_tenant_table('simulations');
