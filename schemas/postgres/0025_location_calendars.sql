-- Locations from before calendars: a process gives them the calendar of their country and state, page by page.
alter table locations add column needs_calendar boolean not null default true;
alter table locations alter column needs_calendar set default false;
comment on column locations.needs_calendar is 'True: the location is older than calendars, and has not yet the calendar of its country and state.';
create index locations_needs_calendar on locations (id) where needs_calendar;
