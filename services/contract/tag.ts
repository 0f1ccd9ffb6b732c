/** What the operations of each group are about, in the words of the reference page. */
export const tagDescriptions: Readonly<Record<string, string>> = {
  Account: 'Log in, and see the account and the limits that a token belongs to.',
  Metering: 'Send energy records and follow each of them from receipt to stored cost.',
  Costs: 'Ask what energy costs: of one record at once, or added up over a span or a session.',
  Customers: 'Group locations by the person or company that they belong to.',
  Locations: 'Places with one grid connection: they hold the time zone, the currency and the tariffs.',
  Devices: 'Meters, chargers and batteries whose records are told apart at a location.',
  Tariffs: 'Prices of energy and grid fees, by season, day and hour, with tiers and surcharges.',
  Markets: 'Sources of market prices, and price series of your own.',
  Events: 'What changed in the account, newest first.',
}
