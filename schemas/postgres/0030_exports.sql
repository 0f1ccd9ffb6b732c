create table exports (
  account_id text collate "C" not null,
  live_mode boolean not null,
  id text collate "C" not null,
  request json not null,
  actor text collate "C" not null,
  status text not null check (status in ('PENDING', 'RUNNING', 'DONE', 'FAILED')),
  claim uuid,
  due_at timestamptz not null,
  attempts integer not null default 0,
  bytes bigint not null default 0,
  manifest json,
  refusal json,
  time_created timestamptz not null,
  finished_at timestamptz,
  primary key (account_id, live_mode, id),
  constraint exports_finished_check check ((finished_at is null) = (status in ('PENDING', 'RUNNING'))),
  constraint exports_manifest_check check ((manifest is null) = (status <> 'DONE'))
);
comment on table exports is 'Files of records, costs and objects. Removed with their files a day after their end.';
comment on column exports.request is 'JSON of the request: services/contract/interchange/export.ts.';
comment on column exports.actor is 'API key of the request.';
comment on column exports.claim is 'Claim of the process that writes or wrote the file. The name of the file has it.';
comment on column exports.due_at is 'From when a process may claim the export. A claim that is not kept expires.';
comment on column exports.attempts is 'Claims that did not end the export.';
comment on column exports.bytes is 'Bytes written so far; after the end, the size of the file.';
comment on column exports.manifest is 'Content of the file.';
comment on column exports.refusal is 'Reason of the status FAILED.';
create index exports_due on exports (due_at) where finished_at is null;
create index exports_finished on exports (finished_at) where finished_at is not null;
call protect_tenant_table('exports');
