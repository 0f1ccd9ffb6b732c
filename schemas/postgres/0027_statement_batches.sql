create table statement_batches (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  request text not null,
  finalises boolean not null,
  allows_gaps boolean not null,
  actor text collate "C" not null,
  status text not null check (status in ('RUNNING', 'DONE', 'STOPPED')),
  total integer not null,
  done integer not null default 0,
  failed integer not null default 0,
  served_at timestamptz not null,
  time_created timestamptz not null,
  finished_at timestamptz,
  primary key (account_id, live_mode, id),
  constraint statement_batches_counts_check check (
    done + failed <= total and (status <> 'DONE' or done + failed = total)),
  constraint statement_batches_finished_check check ((finished_at is null) = (status = 'RUNNING'))
);
comment on table statement_batches is 'Statements of many locations with one request. Deleted 30 days after the end.';
comment on column statement_batches.request is 'As statements.request.';
comment on column statement_batches.actor is 'API key of the request.';
comment on column statement_batches.done is 'Number of calculated statements.';
comment on column statement_batches.failed is 'Number of locations without a statement.';
comment on column statement_batches.served_at is 'Start of the last page, so that accounts take turns.';
create index statement_batches_running on statement_batches (account_id, served_at) where finished_at is null;
create index statement_batches_finished on statement_batches (finished_at) where finished_at is not null;
call protect_tenant_table('statement_batches');

create table statement_batch_pages (
  account_id text collate "C" not null,
  live_mode boolean not null,
  batch_id text collate "C" not null,
  first_index integer not null,
  location_ids text[] not null,
  claim uuid,
  due_at timestamptz not null,
  attempts integer not null default 0,
  finished_at timestamptz,
  failures json,
  answers bytea,
  device_ids text[],
  primary key (account_id, live_mode, batch_id, first_index),
  constraint statement_batch_pages_batch_fkey foreign key (account_id, live_mode, batch_id)
    references statement_batches on delete cascade,
  constraint statement_batch_pages_finished_check check (
    (finished_at is null) = (answers is null) and (finished_at is null) = (failures is null)
    and (finished_at is null) = (device_ids is null))
);
comment on table statement_batch_pages is 'Locations of a batch. A process claims a page, calculates its statements and stores them.';
comment on column statement_batch_pages.first_index is 'Number of locations of the batch before the page.';
comment on column statement_batch_pages.claim is 'Claim of the process that works on the page.';
comment on column statement_batch_pages.due_at is 'From when a process may claim the page. A claim that is not kept expires.';
comment on column statement_batch_pages.attempts is 'Claims that did not end the page.';
comment on column statement_batch_pages.failures is 'Locations without a statement: [{object_id, code, message}].';
comment on column statement_batch_pages.answers is 'Statements, one JSON text in a line, compressed with Zstandard.';
comment on column statement_batch_pages.device_ids is 'Devices that the statements name.';
alter table statement_batch_pages alter column answers set storage external;
create index statement_batch_pages_due on statement_batch_pages (batch_id, account_id, live_mode, first_index)
  where finished_at is null;
call protect_tenant_table('statement_batch_pages');
