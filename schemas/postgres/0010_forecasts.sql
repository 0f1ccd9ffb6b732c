alter table market_sources add column forecast_from timestamptz;
comment on column market_sources.forecast_from is 'Earliest change of published prices that the forecasts do not follow yet; null where they do. Set in the transaction of the change.';
create index market_sources_forecast_due on market_sources (id) where forecast_from is not null;

-- All rows are meant, also where the owner who applies this is no superuser.
alter table market_sources no force row level security;
alter table market_prices no force row level security;
update market_sources s set forecast_from = (select min(p.start_time) from market_prices p where p.source_id = s.id and p.published);
delete from market_prices where not published;
alter table market_sources force row level security;
alter table market_prices force row level security;

alter table market_prices add column confidence numeric(5, 4) check (confidence > 0 and confidence < 1),
  add check (published = (confidence is null));
comment on column market_prices.published is 'True: published by the market. False: forecast from the published prices before; where both exist the published one holds.';
comment on column market_prices.confidence is 'How far a forecast can be trusted; null on published prices, which are certain.';

alter table price_fan_outs add column tells boolean not null default true;
comment on column price_fan_outs.tells is 'Whether each location has a location.update. False: forecasts followed a change that has told them already.';
