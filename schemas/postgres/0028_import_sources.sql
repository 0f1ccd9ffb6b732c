alter table tariffs add column source_id text;
comment on column tariffs.source_id is 'Format and id of the imported file; null: the tariff was not imported.';

alter table charges add column source_id text;
comment on column charges.source_id is 'As tariffs.source_id.';
