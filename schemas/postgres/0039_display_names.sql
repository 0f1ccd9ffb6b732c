alter table customers add column display_name text;
alter table locations add column display_name text;
alter table devices add column display_name text;
comment on column customers.display_name is 'Name for people. It identifies nothing.';
comment on column locations.display_name is 'Name for people. It identifies nothing.';
comment on column devices.display_name is 'Name for people. It identifies nothing.';
