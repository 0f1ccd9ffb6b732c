/** What the operations of each group are about, in the words of the reference page. */
export const tagDescriptions: Readonly<Record<string, string>> = {
  Account: 'Log in, and see the account and the limits that a token belongs to.',
  Metering: 'Send energy records and follow each of them from receipt to stored cost.',
  Costs: 'Ask what energy costs: of one record at once, or added up over a span or a session.',
  Customers: 'Group locations by the person or company that they belong to.',
  Locations: 'Places with one grid connection: they hold the time zone, the currency and the tariffs.',
  Devices: 'Meters, chargers and batteries whose records are told apart at a location.',
  Tariffs: 'Prices of energy and grid fees, by season, day and hour, with tiers and surcharges.',
  Prices: 'Ask what a kWh costs at a location, and how its price is made up.',
  Schedules: 'Find cheap and dear time, and plan devices so that their energy costs least.',
  Markets: 'Sources of market prices, and price series of your own.',
  Connect: 'Let people connect the tariff of a location themselves, page by page.',
  Events: 'What changed in the account, newest first.',
  Webhooks: 'Have events sent to you, signed, and see what became of each.',
}
