-- The account changes its name and colour on the pages of Connect itself.
alter table accounts add column brand_color text check (brand_color ~ '^#[0-9a-f]{6}$');
comment on column accounts.brand_color is 'Colour of buttons and links on the pages of Connect, such as #0a5c3e; null: the colour of Wattledger.';
grant update (display_name, brand_color) on accounts to wattledger_tenant;
