alter table locations add column register jsonb;
alter table devices add column register jsonb;
comment on column locations.register is
  'Properties of the registers of the location itself: kind, digits (null: unknown), maxPower (units and power in 1e-6 W, or null). Null: unknown.';
comment on column devices.register is
  'Properties of the registers of the device: kind, digits (null: unknown), maxPower (units and power in 1e-6 W, or null). Null: unknown.';
