grant usage on sequence outbox_id_seq to wattledger_tenant, wattledger_operator;
alter table webhook_endpoints add column outbox_id bigint not null default nextval('outbox_id_seq');
comment on column webhook_endpoints.outbox_id is 'Number from the sequence of outbox.id, drawn at the creation. The endpoint receives the events whose message has a higher number, whatever the clocks say.';

-- Endpoints that exist receive the waiting events that are not older than they are.
alter table webhook_endpoints no force row level security;
alter table outbox no force row level security;
update webhook_endpoints e set outbox_id = coalesce((select max(o.id) from outbox o where o.time_created < e.time_created), 0);
alter table webhook_endpoints force row level security;
alter table outbox force row level security;
