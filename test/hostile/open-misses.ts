/** Names of inputs that still miss the promise, or missed it when last played: the suite counts them and does not play them. */
export const open: readonly string[] = [
  'market prices of many hours under many records',
  'prices of 90 days, eight at once',
  'a record of many pieces, shown',
  'a plan of many windows at tiers',
]
