alter table tariffs add column versions jsonb not null default '[]' check (jsonb_typeof(versions) = 'array');
comment on column tariffs.versions is
  'Prices that replace terms from an instant on: [{effectiveFrom, schedule}], ascending, instants in ms, schedule as in terms.';
