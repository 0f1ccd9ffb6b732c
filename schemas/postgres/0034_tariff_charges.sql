-- A standing charge that a person entered with a tariff in Connect. It follows the days of its tariff.
alter table charges add column tariff_id text collate "C";
comment on column charges.tariff_id is 'Tariff whose days the charge follows; null for a charge of its own.';
create index charges_tariff on charges (tariff_id) where tariff_id is not null;
