create table erasures (
  account_id text collate "C" not null,
  live_mode boolean not null,
  object_id text collate "C" not null,
  location_ids text[] not null,
  device_ids text[] not null,
  other_ids text[] not null,
  receipts_before timestamptz,
  asked_at timestamptz not null,
  until timestamptz not null,
  due_at timestamptz,
  primary key (account_id, live_mode, object_id)
);
comment on table erasures is 'What must not be known any more. Records of these objects that still travel are not stored, and what was stored of them is deleted again and again until nothing can bring it back.';
comment on column erasures.object_id is 'What was named: a customer, a location, a device, or the account itself.';
comment on column erasures.other_ids is 'Customers and tariffs that went with it: events and audit entries name them.';
comment on column erasures.receipts_before is 'Receipts of submissions before this instant go too; null: only what they say of the objects.';
comment on column erasures.until is 'When log, dead letters, events and delivery attempts of before have all expired.';
comment on column erasures.due_at is 'When every lane is told next; null: it is done for good.';
create index erasures_due on erasures (due_at) where due_at is not null;
call protect_tenant_table('erasures');
