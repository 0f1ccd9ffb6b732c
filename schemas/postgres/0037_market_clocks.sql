alter table market_sources add column timezone text, add column forecast_timezone text;
comment on column market_sources.timezone is 'Time zone in whose days and weeks the prices repeat. Null for the default: that of the area, else of the first location with the source, else UTC.';
comment on column market_sources.forecast_timezone is 'Time zone with which all stored forecasts were calculated; null if no run recorded it.';

-- All rows are meant, also where the owner who applies this is no superuser. Without an area, forecasts used UTC.
alter table market_sources no force row level security;
update market_sources set forecast_timezone = 'UTC' where area is null;
alter table market_sources force row level security;
