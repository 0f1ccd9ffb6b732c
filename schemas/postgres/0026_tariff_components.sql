alter table tariffs add column component text;
comment on column tariffs.component is 'Names its lines on statements; null: energy, or grid for NON_COMMODITY.';

alter table charges add column closed_at timestamptz;
comment on column charges.closed_at is
  'Since when its location is deleted. The charge is hidden, and statements of the location still read it.';

alter table plan_tariffs add column component text not null default 'energy';
alter table plan_tariffs alter column component drop default;
comment on column plan_tariffs.component is 'As tariffs.component.';
