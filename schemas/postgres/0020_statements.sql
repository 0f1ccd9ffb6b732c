create table statements (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  location_id text collate "C" not null,
  request text not null,
  start_date date not null,
  end_date date not null,
  revision integer not null check (revision > 0),
  hash text not null,
  requested_at timestamptz not null,
  time_created timestamptz not null,
  finalised_at timestamptz,
  draft_hash text,
  answer text,
  summary text,
  lines json,
  primary key (account_id, live_mode, id),
  constraint statements_dates_check check (start_date < end_date),
  constraint statements_final_check check (
    (finalised_at is null) = (answer is null) and (finalised_at is null) = (lines is null)
    and (finalised_at is null) = (summary is null) and (finalised_at is null) = (draft_hash is null)),
  constraint statements_overlap exclude using gist (
    account_id with =, location_id with =, daterange(start_date, end_date) with &&
  ) where (finalised_at is not null)
);
comment on table statements is 'Requests of statements for 90 days, and FINAL statements until they are voided.';
comment on column statements.id is 'Hash of account, mode, location and request.';
comment on column statements.request is 'JSON of the request with all defaults.';
comment on column statements.end_date is 'Exclusive.';
comment on column statements.revision is 'Number of changes of the hash, plus one.';
comment on column statements.hash is 'SHA-256 of the last answer in hexadecimal digits.';
comment on column statements.requested_at is 'Last request, with an accuracy of a day.';
comment on column statements.draft_hash is 'Hash of the DRAFT that became FINAL.';
comment on column statements.answer is 'FINAL answer as it was sent; ids of erased devices and sessions are removed.';
comment on column statements.summary is 'FINAL answer without its lines, the data of its events.';
comment on column statements.lines is 'Sums of rounded amounts by component and tax flag, and by adjusted statement; in 1e-9.';
create index statements_location on statements (location_id, account_id, live_mode);
create index statements_requested on statements (requested_at) where finalised_at is null;
call protect_tenant_table('statements');
